"""Dates with time zones, decimals, fractions, patterns, data classes, generators, random numbers."""

import datetime
import decimal
import fractions
import itertools
import logging
import random
import re
import zoneinfo
from dataclasses import dataclass


@dataclass
class Pair:
    a: int
    b: int

    def parts(self):
        yield self.a
        yield self.b


def add(a, b):
    day = datetime.datetime(2024, 2, 29, tzinfo=zoneinfo.ZoneInfo("UTC"))
    logging.warning("%s %s", day, random.Random(1).random())
    numbers = re.findall(r"-?\d+", f"{a} and {b}")
    exact = decimal.Decimal(numbers[0]) + int(fractions.Fraction(numbers[1]))
    assert exact == sum(itertools.chain(Pair(a, b).parts()))
    return int(exact)
