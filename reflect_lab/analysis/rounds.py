"""Score and tokens per round, as a figure. The figure's SQL stands in `figure.layout.meta["sql"]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from plotly.graph_objects import Bar, Figure, Scatter

SQL = """
SELECT run_id, round, score, score_kind, input_tokens + output_tokens AS tokens, blocking
FROM rounds
WHERE list_contains(?, run_id)
ORDER BY run_id, round
""".strip()

MARKS = {"critic": ("#2f6fb2", "circle"), "checks": ("#b3661a", "diamond")}
"""Colour and symbol of each kind of score; the two are never joined by a line, because they can't be compared."""
TOKENS_COLOUR = "#b9c6d3"
GRID = "rgba(128,128,128,0.2)"


class Queryable(Protocol):
    """Anything that answers SQL with rows as mappings, such as the traces."""

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> Any: ...


def score_and_tokens(traces: Queryable, runs: Mapping[str, str]) -> Figure:
    """Score (marks, 0..1) and tokens (bars) of each round, one panel for each run; `runs` maps run ids to titles.

    An unknown score or token count leaves a gap, and tokens that are unknown are named so; unknown is never zero.
    """
    from plotly.subplots import make_subplots

    rows = [dict(row) for row in traces.sql(SQL, (list(runs),))]
    figure: Figure = make_subplots(
        cols=len(runs), rows=1, subplot_titles=list(runs.values()), specs=[[{"secondary_y": True}] * len(runs)]
    )
    named: set[str] = set()
    for column, run_id in enumerate(runs, start=1):
        own = [row for row in rows if row["run_id"] == run_id]
        # Tokens stand on the first axis, because the second one is drawn above it.
        figure.add_trace(_tokens(own, "tokens" not in named), row=1, col=column, secondary_y=False)
        named.add("tokens")
        for kind in dict.fromkeys(row["score_kind"] for row in own if row["score"] is not None):
            figure.add_trace(_scores(own, kind, kind not in named), row=1, col=column, secondary_y=True)
            named.add(kind)
        _dress_panel(figure, own, column)
    figure.update_yaxes(title_text="tokens", secondary_y=False, col=1)
    figure.update_yaxes(title_text="score", secondary_y=True, col=len(runs))
    _dress(figure, len(rows))
    return figure


def _tokens(rows: Sequence[Mapping[str, Any]], show_name: bool) -> Bar:
    from plotly.graph_objects import Bar

    return Bar(
        x=[row["round"] for row in rows],
        y=[row["tokens"] for row in rows],
        name="tokens",
        marker_color=TOKENS_COLOUR,
        width=0.5,
        showlegend=show_name,
        hovertemplate="round %{x}: %{y} tokens<extra></extra>",
    )


def _scores(rows: Sequence[Mapping[str, Any]], kind: str, show_name: bool) -> Scatter:
    from plotly.graph_objects import Scatter

    colour, symbol = MARKS[kind]
    return Scatter(
        x=[row["round"] for row in rows],
        y=[row["score"] if row["score_kind"] == kind else None for row in rows],
        name=f"score of the {kind}",
        mode="lines+markers",
        marker={"size": 10, "symbol": symbol, "color": colour},
        line={"color": colour, "width": 2},
        showlegend=show_name,
        customdata=[row["blocking"] for row in rows],
        hovertemplate="round %{x}: score %{y:.2f}, %{customdata} blocking<extra></extra>",
    )


def _dress_panel(figure: Figure, rows: Sequence[Mapping[str, Any]], column: int) -> None:
    known = [row["tokens"] for row in rows if row["tokens"] is not None]
    place = {"row": 1, "col": column}
    figure.update_xaxes(title_text="round", dtick=1, range=[-0.6, max(len(rows) - 1, 0) + 0.6], **place)
    figure.update_yaxes(
        range=[0, 1.15 * max(known) if known else 1], showticklabels=bool(known), nticks=5, secondary_y=False, **place
    )
    scores = {"range": [-0.04, 1.06], "dtick": 0.2, "tickformat": ".1f", "tickmode": "linear", "showgrid": False}
    figure.update_yaxes(**scores, secondary_y=True, **place)
    if len(known) < len(rows):
        note = {"text": "tokens unknown", "x": 0.5, "y": 0.05, "showarrow": False}
        figure.add_annotation(xref="x domain", yref="y domain", **note, **place)


def _dress(figure: Figure, count: int) -> None:
    """Readable on light and dark pages: transparent ground, grey ink."""
    figure.update_layout(
        meta={"sql": SQL},
        title={"text": f"Score and tokens per round (n = {count} rounds)", "font": {"size": 15}, "x": 0.01},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": "#808080"},
        height=340,
        margin={"l": 60, "r": 60, "t": 80, "b": 50},
        legend={"orientation": "h", "y": 1.28, "x": 1, "xanchor": "right"},
    )
    figure.update_xaxes(gridcolor=GRID, zeroline=False)
    figure.update_yaxes(gridcolor=GRID, zeroline=False)
