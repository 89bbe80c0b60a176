"""`reflect-lab traces list | show | sql | path`."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from reflect_lab.options import OptionParser

if TYPE_CHECKING:
    from reflect_lab.session import Session


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, parser_class=OptionParser)
    listing = actions.add_parser("list", help="the runs, newest first")
    listing.add_argument("--limit", type=int, default=20, metavar="N", help="how many (default 20)")
    listing.set_defaults(action=_list)
    show = actions.add_parser("show", help="one run")
    show.add_argument("run", metavar="RUN", help="a run's id, the start of it, or `last`")
    show.add_argument("--json", action="store_true", help="print the run document")
    show.set_defaults(action=_show)
    sql = actions.add_parser("sql", help="any query over the relations")
    sql.add_argument("query", metavar="SQL", help='such as "select run_id, stop_reason from runs"')
    sql.set_defaults(action=_sql)
    path = actions.add_parser("path", help="where the traces are")
    path.set_defaults(action=_path)
    for action in (listing, show, sql, path):
        action.add_argument("--traces", metavar="DIR", help="folder of the traces")


def run(arguments: argparse.Namespace) -> int:
    from reflect_lab.session import Session

    session = Session(traces=arguments.traces)
    arguments.action(session, arguments)
    return 0


def _list(session: Session, arguments: argparse.Namespace) -> None:
    print(session.open_traces().runs(arguments.limit))


def _show(session: Session, arguments: argparse.Namespace) -> None:
    from reflect_lab.documents.render_text import run_text
    from reflect_lab.documents.run_document import dump_run

    traces = session.open_traces()
    found = traces.run(arguments.run)
    if arguments.json:
        print(json.dumps(dump_run(found), ensure_ascii=True, allow_nan=False, indent=1))
    else:
        print(run_text(found, traces=str(traces.folder)), end="")


def _sql(session: Session, arguments: argparse.Namespace) -> None:
    print(session.open_traces().sql(arguments.query))


def _path(session: Session, arguments: argparse.Namespace) -> None:
    print(session.folder())
