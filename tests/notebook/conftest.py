"""One kernel for all tests that leave it as they found it, with a server of its own to talk to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.notebook.kernels import Kernel, kernel
from tests.openai_server import OpenAITestServer


@dataclass(frozen=True)
class Lab:
    """A kernel with the magics loaded, whose default model is the server's."""

    kernel: Kernel
    server: OpenAITestServer


@pytest.fixture(scope="session")
def one_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("kernel")
    with OpenAITestServer() as server, kernel(folder, OPENAI_BASE_URL=server.url, OPENAI_MODEL="m") as started:
        started.good("%load_ext reflect_lab")
        yield Lab(started, server)


@pytest.fixture
def lab(one_lab: Lab) -> Iterator[Lab]:
    """The shared kernel; a test may not leave behaviours of the server to the next one."""
    yield one_lab
    one_lab.server.behaviours.clear()
    one_lab.server.requests.clear()
