"""`reflect-lab model install`: brings the embedded model."""

from __future__ import annotations

import argparse

from reflect_lab.options import OptionParser


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, parser_class=OptionParser)
    actions.add_parser("install", help="install the embedded model's engine and weights (130 MB)")


def run(arguments: argparse.Namespace) -> int:
    from reflect_lab.models import embedded

    embedded.install(print)
    return 0
