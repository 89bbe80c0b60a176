"""Prices: per call, by date, offline; and what an unknown price is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from reflect_lab.models.prices import Prices, prices_version
from tests.models.recording import Recording, client_of, request
from tests.openai_server import OpenAITestServer, Reply

OPENAI = "https://api.openai.com/v1"
THEN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def prices() -> Prices:
    return Prices.load()


def cost(prices: Prices, **changes: Any) -> float | None:
    call: dict[str, Any] = {"model": "gpt-5", "base_url": OPENAI, "at": THEN}
    return prices.cost(**{**call, "input_tokens": 1000, "output_tokens": 1000, **changes})


def test_a_known_model_has_its_price(prices: Prices) -> None:
    assert cost(prices) == pytest.approx(0.01125)  # 1.25 and 10 dollars per million


def test_cached_input_is_cheaper(prices: Prices) -> None:
    cached, whole = cost(prices, cached_tokens=1000), cost(prices)
    assert cached is not None and whole is not None and cached < whole


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "a-model-of-nobody"},
        {"base_url": "http://127.0.0.1:8000/v1"},
        {"input_tokens": None},
        {"output_tokens": None},
        {"cached_tokens": 5000},
    ],
)
def test_an_unknown_price_is_none(prices: Prices, changes: dict[str, Any]) -> None:
    assert cost(prices, **changes) is None


def test_the_tables_version_is_known_without_loading_them(prices: Prices) -> None:
    assert prices_version() == prices.version is not None


async def test_a_priced_call_has_its_cost_in_the_ledger(prices: Prices) -> None:
    class Known(Prices):
        def cost(self, **call: Any) -> float | None:
            return super().cost(**{**call, "base_url": OPENAI})

    usage = {"prompt_tokens": 1000, "completion_tokens": 1000}
    with OpenAITestServer(Reply("x", usage=usage, model="gpt-5"), Reply("x", usage=None)) as server:
        client = client_of(server, model="gpt-5", prices=Known(prices.tables, prices.version))
        hooks = Recording()
        await client.complete(request(), hooks)
        await client.complete(request(), hooks)
        await client.close()
    priced, unknown = hooks.rows
    assert priced.cost == pytest.approx(0.01125)
    assert priced.currency == "USD"
    assert (unknown.cost, unknown.currency) == (None, None)
