"""`reflect-lab doctor`: what this machine has."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--traces", metavar="DIR", help="folder of the traces")


def run(arguments: argparse.Namespace) -> int:
    from reflect_lab.doctor import examine, report
    from reflect_lab.session import Session

    findings = examine(Session(traces=arguments.traces))
    print(json.dumps([asdict(f) for f in findings], indent=1) if arguments.json else report(findings))
    return 0
