"""Money: amounts in a currency, and in the currency of a cost limit."""

from __future__ import annotations

from dataclasses import dataclass

from reflect_lab.core.policy import Limits


@dataclass(frozen=True)
class Money:
    """An amount in a currency (a code such as `USD`)."""

    amount: float
    currency: str


def in_limit_currency(amount: float, currency: str | None, limits: Limits) -> float | None:
    """An amount in the currency of the cost limit; None where no rate leads there."""
    rate = rate_to_limit(currency, limits)
    return None if rate is None else amount * rate


def rate_to_limit(currency: str | None, limits: Limits) -> float | None:
    """What one unit of `currency` is in the currency of the cost limit: 1 for itself, else the rate that the user gave;
    None where there is none."""
    if currency is None:
        return None
    return 1.0 if currency == limits.cost_currency else limits.rates.get(currency)


def money_text(amount: float) -> str:
    """An amount in words: four decimals, more where they would hide it (`0.0123`, `0.000045`)."""
    return f"{amount:.2g}" if 0 < abs(amount) < 0.001 else f"{amount:,.4f}"
