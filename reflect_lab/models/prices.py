"""What a call cost, from the price tables of `genai-prices`: offline, per call, by the call's date."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.money import rate_to_limit
from reflect_lab.core.policy import Limits

if TYPE_CHECKING:
    from reflect_lab.core.chat import ChatClient

CURRENCY = "USD"
_log = logging.getLogger(__name__)


def prices_version() -> str | None:
    """The version of the price tables, for the record; None where they are not installed. Imports nothing."""
    try:
        return metadata.version("genai-prices")
    except metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Prices:
    """The price tables. `load` takes half a second the first time: do it in a thread."""

    tables: Any
    version: str | None

    @classmethod
    def load(cls) -> Prices:
        return cls(tables=importlib.import_module("genai_prices"), version=prices_version())

    def cost(
        self,
        *,
        model: str,
        base_url: str,
        at: datetime,
        input_tokens: int | None,
        output_tokens: int | None,
        cached_tokens: int | None = None,
    ) -> float | None:
        """The cost of one call in US dollars; None where a count or the price is unknown.

        The provider is known by its URL alone: the same model's name behind a gateway says nothing about its price.
        """
        if input_tokens is None or output_tokens is None:
            return None
        usage = self.tables.Usage(
            input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens
        )
        try:
            price = self.tables.calc_price(usage, model, provider_api_url=base_url, genai_request_timestamp=at)
        except (LookupError, ValueError) as error:
            # ValueError: the table knows the model but not how to price this usage (a unit without a price).
            _log.debug("no price for %s at %s: %s", model, base_url, error)
            return None
        return float(price.total_price)


def check_cost_limit(limits: Limits, clients: Sequence[ChatClient]) -> None:
    """Raises WrongUse where a cost limit can't be kept: a call without a known price, or without a rate for it."""
    if limits.cost is None:
        return
    unit = limits.cost_currency
    for client in clients:
        used = client.currencies()
        if None in used:
            where = (
                f" at {client.endpoint}" if client.endpoint else ": some line of it states no cost with its currency"
            )
            raise WrongUse(
                f"limits.cost can't be kept: no price is known for {client.model}{where}; leave the cost limit out and "
                "limit tokens or calls"
            )
        for currency in sorted(code for code in used if code is not None):
            if rate_to_limit(currency, limits) is None:
                raise WrongUse(
                    f"limits.cost is in {unit} and {client.model} is charged in {currency}: say in limits.rates what 1 "
                    f"{currency} is in {unit} (`rates: {{{currency}: …}}`)"
                )
