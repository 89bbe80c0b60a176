"""Score and tokens per round, as a figure. The figure's SQL stands in `figure.layout.meta["sql"]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SQL = """
SELECT run_id, round, score, score_kind, input_tokens + output_tokens AS tokens, blocking
FROM rounds
WHERE list_contains(?, run_id)
ORDER BY run_id, round
""".strip()

SCORE_COLOUR = "#2f6fb2"
TOKENS_COLOUR = "#b9c6d3"


class Queryable(Protocol):
    """Anything that answers SQL with rows as mappings, such as the traces."""

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> Any: ...


def score_and_tokens(traces: Queryable, runs: Mapping[str, str]) -> Figure:
    """Score (line, 0..1) and tokens (bars) of each round, one panel for each run; `runs` maps run ids to titles.

    An unknown score or token count leaves a gap that says so; it is never drawn as zero.
    """
    from plotly.graph_objects import Bar, Scatter
    from plotly.subplots import make_subplots

    rows = list(traces.sql(SQL, (list(runs),)))
    figure: Figure = make_subplots(
        cols=len(runs), rows=1, subplot_titles=list(runs.values()), specs=[[{"secondary_y": True}] * len(runs)]
    )
    for column, run_id in enumerate(runs, start=1):
        own = [row for row in rows if row["run_id"] == run_id]
        rounds = [row["round"] for row in own]
        is_first = column == 1
        tokens = [row["tokens"] for row in own]
        bars = Bar(x=rounds, y=tokens, name="tokens", marker_color=TOKENS_COLOUR, width=0.5, showlegend=is_first)
        figure.add_trace(bars, row=1, col=column, secondary_y=True)
        line = Scatter(
            x=rounds,
            y=[row["score"] for row in own],
            name="score",
            mode="lines+markers",
            marker={"size": 9},
            line={"color": SCORE_COLOUR, "width": 2},
            showlegend=is_first,
            customdata=[[row["score_kind"] or "unknown", row["blocking"]] for row in own],
            hovertemplate="round %{x}: score %{y:.2f} (%{customdata[0]}), %{customdata[1]} blocking<extra></extra>",
        )
        figure.add_trace(line, row=1, col=column, secondary_y=False)
        if None in tokens:
            note = {"text": "tokens unknown", "x": 0.5, "y": 0.04, "showarrow": False, "font": {"color": "#7a7a7a"}}
            figure.add_annotation(xref="x domain", yref="y domain", row=1, col=column, **note)
        figure.update_xaxes(title_text="round", dtick=1, range=[-0.6, max(rounds, default=0) + 0.6], row=1, col=column)
    figure.update_yaxes(range=[-0.02, 1.05], title_text="score", secondary_y=False, col=1)
    figure.update_yaxes(rangemode="tozero", showgrid=False, secondary_y=True)
    figure.update_yaxes(title_text="tokens", secondary_y=True, col=len(runs))
    _dress(figure, len(rows))
    return figure


def _dress(figure: Figure, count: int) -> None:
    """Readable on light and dark pages: transparent ground, grey ink."""
    figure.update_layout(
        meta={"sql": SQL},
        title={"text": f"Score and tokens per round (n = {count} rounds)", "font": {"size": 15}},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": "#808080"},
        height=340,
        margin={"l": 60, "r": 60, "t": 80, "b": 50},
        legend={"orientation": "h", "y": 1.22, "x": 1, "xanchor": "right"},
    )
    figure.update_xaxes(gridcolor="rgba(128,128,128,0.2)", zeroline=False)
    figure.update_yaxes(gridcolor="rgba(128,128,128,0.2)", zeroline=False)
