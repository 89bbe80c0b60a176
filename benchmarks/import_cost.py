"""What loading costs, measured in fresh processes: `import reflect_lab`, `%load_ext reflect_lab` in a live kernel, and
the first steps that load more. CPU seconds of the process itself; the smallest of several tries, since a busy machine
only ever adds.

    python benchmarks/import_cost.py [TRIES]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.manager import KernelManager

ROOT = Path(__file__).resolve().parent.parent
CLOCK = """
import sys, time, json
before, start = set(sys.modules), time.process_time()
{code}
print(json.dumps([time.process_time() - start, len(set(sys.modules) - before)]))
"""
SCRIPTS = {
    "import reflect_lab": "import reflect_lab",
    "import asyncio, to compare": "import asyncio",
    "import reflect_lab; Session": "import reflect_lab; reflect_lab.Session",
    "reflect-lab --help": (
        "import contextlib, io\nfrom reflect_lab.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main(['--help'])"
    ),
}
LOAD = "get_ipython().run_line_magic('load_ext', 'reflect_lab')"


@dataclass(frozen=True)
class Cost:
    """CPU seconds and new modules."""

    seconds: float
    modules: int


def script_cost(code: str, folder: Path) -> Cost:
    """Of code in a fresh process."""
    command = [sys.executable, "-c", CLOCK.format(code=code)]
    done = subprocess.run(command, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=True)
    return Cost(*json.loads(done.stdout))


def kernel_cost(folder: Path) -> Cost:
    """Of `%load_ext reflect_lab` in a kernel that has just started."""
    manager = KernelManager()
    manager.start_kernel(extra_arguments=["--log-level=ERROR"], cwd=str(folder), env=_environment(folder))
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        told: list[str] = []
        client.execute_interactive(
            CLOCK.format(code=LOAD),
            output_hook=lambda m: told.append(m["content"]["text"]) if m["msg_type"] == "stream" else None,
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return Cost(*json.loads("".join(told)))


def _environment(folder: Path) -> dict[str, str]:
    return {"PATH": str(Path(sys.executable).parent), "HOME": str(folder), "PYTHONPATH": str(ROOT)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tries", type=int, nargs="?", default=5)
    tries = parser.parse_args().tries
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _row("%load_ext reflect_lab in a kernel", [kernel_cost(folder) for _ in range(tries)])
        for title, code in SCRIPTS.items():
            _row(title, [script_cost(code, folder) for _ in range(tries)])


def _row(title: str, costs: list[Cost]) -> None:
    least, most = min(c.seconds for c in costs), max(c.seconds for c in costs)
    modules = max(c.modules for c in costs)
    print(f"{title:<36} {least * 1000:7.1f} ms CPU (up to {most * 1000:.1f} of {len(costs)})  {modules:4} new modules")


if __name__ == "__main__":
    main()
