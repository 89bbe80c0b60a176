"""What a recorded run would have returned under other policies and other caps, replayed at zero calls.

Where the record ends before the answer, the answer is *unknown*: a gap in a line, named as such, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_lab.core.policy import Policy
from reflect_lab.core.progress import blocking_keys
from reflect_lab.core.replay import Replay, replay
from reflect_lab.core.run import Round, Run
from reflect_lab.documents.render_words import is_judged

if TYPE_CHECKING:
    from plotly.graph_objects import Figure, Scatter

COLOURS = ("#2f6fb2", "#b3661a", "#3d8b5f", "#8a63a8", "#a84a5f")
"""One for each policy; they read on light and on dark pages, and each line has its own dash and symbol besides."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")
SPREAD = 0.08
"""How far the marks of two policies stand apart at one cap, in revisions: lines on one another hide each other."""
GRID = "rgba(128,128,128,0.2)"
INK = "#808080"


@dataclass(frozen=True, kw_only=True)
class Capped:
    """A run replayed with at most `revisions` revisions."""

    revisions: int
    replay: Replay

    @property
    def returned(self) -> Round | None:
        """The round whose draft would be returned; None where that is unknown."""
        outcome = self.replay.run.outcome
        if outcome is None or outcome.draft_index is None:
            return None
        return self.replay.run.rounds[outcome.draft_index]

    @property
    def score(self) -> float | None:
        """Of the returned draft, in 0..1; None where it is unknown."""
        return self.returned.critique.score if self.returned and self.returned.critique else None

    @property
    def blocking(self) -> int | None:
        """How many problems block the returned draft; None where that is unknown, also where nobody looked."""
        if self.returned is None:
            return None
        count = len(blocking_keys(self.returned))
        return count if count or is_judged(self.returned) else None

    @property
    def end(self) -> str:
        """The stop reason, or `unknown`."""
        outcome = self.replay.run.outcome
        return outcome.stop_reason if outcome else "unknown"


def capped(run: Run, policy: Policy, most: int) -> tuple[Capped, ...]:
    """The run under a policy with 0, 1, … `most` revisions at most; the policy's own limit of revisions is left out."""
    return tuple(
        Capped(
            revisions=cap,
            replay=replay(run, replace(policy, limits=replace(policy.limits, revisions=cap))),
        )
        for cap in range(most + 1)
    )


def returned_by_revisions(run: Run, policies: Mapping[str, Policy] | None = None, *, most: int | None = None) -> Figure:
    """Score and blocking problems of the draft that would be returned, by the cap on revisions; one line a policy.

    `policies` maps names to policies (default: the run's own, as `as recorded`); `most` is the largest cap (default:
    one more than the run has revisions). The legend says how each policy ends at the largest cap. The mark of a cap
    that ends with `pass` is filled, others are hollow; one whose answer is not in the record has no mark and is named.
    """
    from plotly.subplots import make_subplots

    named = dict(policies) if policies is not None else {"as recorded": run.policy}
    largest = len(run.rounds) if most is None else most
    figure: Figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.62, 0.38], vertical_spacing=0.1)
    for place, (name, policy) in enumerate(named.items()):
        ends = capped(run, policy, largest)
        shift = SPREAD * (place - (len(named) - 1) / 2)
        figure.add_trace(_line(name, ends, [c.score for c in ends], shift, place, is_named=True), row=1, col=1)
        figure.add_trace(_line(name, ends, [c.blocking for c in ends], shift, place, is_named=False), row=2, col=1)
        _name_the_unknown(figure, name, ends)
    _dress(figure, run, largest)
    return figure


def _line(
    name: str, ends: Sequence[Capped], values: Sequence[float | None], shift: float, place: int, *, is_named: bool
) -> Scatter:
    from plotly.graph_objects import Scatter

    symbol = SYMBOLS[place % len(SYMBOLS)]
    colour = COLOURS[place % len(COLOURS)]
    symbols = [symbol if c.end == "pass" else f"{symbol}-open" for c in ends]
    return Scatter(
        x=[c.revisions + shift for c in ends],
        y=list(values),
        name=f"{name}: {ends[-1].end}",
        legendgroup=name,
        showlegend=is_named,
        mode="lines+markers",
        cliponaxis=False,
        line={"color": colour, "width": 2, "dash": DASHES[place % len(DASHES)]},
        marker={"size": 11, "symbol": symbols, "color": colour, "line": {"width": 2, "color": colour}},
        customdata=[_told(c) for c in ends],
        hovertemplate="at most %{customdata[0]} revisions: draft %{customdata[1]}, score %{customdata[2]}, "
        "%{customdata[3]} blocking, ends with %{customdata[4]}<extra>%{fullData.name}</extra>",
    )


def _told(one: Capped) -> tuple[Any, ...]:
    index = one.returned.draft.index if one.returned else None
    values = (one.revisions, index, one.score, one.blocking, one.end)
    return tuple("unknown" if value is None else value for value in values)


def _name_the_unknown(figure: Figure, name: str, ends: Sequence[Capped]) -> None:
    missing = [str(c.revisions) for c in ends if c.end == "unknown"]
    if not missing:
        return
    at = f"at a cap of {', '.join(missing)}" if len(missing) < len(ends) else "at every cap"
    above = sum(1 for a in figure.layout.annotations if a.name == "unknown")
    figure.add_annotation(
        name="unknown",
        text=f"{name}: unknown {at}, the record does not hold it",
        xref="paper",
        yref="paper",
        x=0,
        y=-0.24 - 0.07 * above,
        xanchor="left",
        showarrow=False,
        font={"size": 12},
    )


def _dress(figure: Figure, run: Run, largest: int) -> None:
    """Axes and ground; readable on light and dark pages: transparent, grey ink."""
    ended = run.outcome.stop_reason if run.outcome else "unknown"
    figure.add_vline(x=len(run.rounds) - 1, line={"color": INK, "width": 1, "dash": "dot"}, row=1, col=1)
    figure.add_annotation(
        text=f"the record: {len(run.rounds) - 1} revisions, {ended}",
        x=len(run.rounds) - 1,
        y=0.02,
        xanchor="right",
        yanchor="bottom",
        xshift=-6,
        showarrow=False,
        row=1,
        col=1,
    )
    unknown = sum(1 for a in figure.layout.annotations if a.name == "unknown")
    title = f"What would have been returned, by the cap on revisions (n = 1 run, {len(run.rounds)} drafts)"
    figure.update_layout(
        title={
            "text": f"{title}<br><sup>filled: accepted; hollow: not accepted</sup>",
            "font": {"size": 15},
            "x": 0.01,
        },
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": INK},
        height=450 + 24 * unknown,
        margin={"l": 60, "r": 20, "t": 110, "b": 60 + 28 * unknown},
        legend={"orientation": "h", "y": 1.02, "x": 0, "yanchor": "bottom"},
    )
    figure.update_xaxes(gridcolor=GRID, zeroline=False, dtick=1, range=[-0.4, largest + 0.4])
    figure.update_xaxes(title_text="revisions at most", row=2, col=1)
    figure.update_yaxes(gridcolor=GRID, zeroline=False)
    figure.update_yaxes(title_text="score", range=[-0.04, 1.06], tickformat=".1f", dtick=0.2, row=1, col=1)
    most = max((y for trace in figure.data if not trace.showlegend for y in trace.y if y is not None), default=0)
    figure.update_yaxes(title_text="blocking", range=[-0.15, max(most, 1) + 0.3], dtick=max(1, most // 4), row=2, col=1)
