"""Counts of few things by kind, as bars whose every number can be read: no rate is made of seven drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reflect_lab.analysis.replays import COLOURS, GRID, INK
from reflect_lab.core.errors import WrongUse

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PATTERNS = ("", "/")
HOLLOW = "rgba(128,128,128,0.12)"

Panels = Mapping[str, Mapping[str, Mapping[str, int]]]


def stacked_counts(panels: Panels, *, title: str, words: Sequence[str] = (), hollow: str | None = None) -> Figure:
    """Stacked bars, one panel beside the other: `panels[of what][bar][word]` is how many of them the word fits.

    The bars of a panel count the same things, so their lengths are equal; else, and for panels with different bars,
    WrongUse. A panel is named `n = 7 wrong drafts` for 7 things and the key `wrong drafts`. `words` is the order within
    a bar (others follow as they come). The word `hollow` is drawn as a gap: what nobody looked at is no result.
    """
    from plotly.subplots import make_subplots

    sizes = {of: _size(of, bars) for of, bars in panels.items()}
    bars = list(next(iter(panels.values()), {}))
    if any(list(each) != bars for each in panels.values()):
        raise WrongUse("the panels must have the same bars in the same order")
    figure: Figure = make_subplots(
        cols=len(panels) or 1,
        shared_yaxes=True,
        column_widths=[max(size, 1) for size in sizes.values()] or None,
        horizontal_spacing=0.04,
        subplot_titles=[f"n = {size} {of}" for of, size in sizes.items()],
    )
    seen = dict.fromkeys(word for each in panels.values() for counts in each.values() for word in counts)
    coloured = [word for word in dict.fromkeys((*words, *seen)) if word in seen and word != hollow]
    for column, each in enumerate(panels.values(), start=1):
        # The hollow one last, so that what was looked at begins at the same line.
        for word in (*coloured, *([hollow] if hollow in seen else [])):
            if any(word in counts for counts in each.values()):
                place = None if word == hollow else coloured.index(word)
                is_first = all(trace.name != word for trace in figure.data)
                figure.add_trace(_bars(word, each, place, is_first), row=1, col=column)
    _dress(figure, title, len(bars))
    return figure


def _size(of: str, bars: Mapping[str, Mapping[str, int]]) -> int:
    sizes = {sum(counts.values()) for counts in bars.values()}
    if len(sizes) > 1:
        raise WrongUse(f"the bars of {of} count different numbers of things: {sorted(sizes)}")
    return next(iter(sizes), 0)


def _bars(word: str, bars: Mapping[str, Mapping[str, int]], place: int | None, is_first: bool) -> object:
    """One word's part of every bar; `place` is the word's among those with a colour, None for the hollow one."""
    from plotly.graph_objects import Bar

    numbers = [counts.get(word, 0) for counts in bars.values()]
    colour = HOLLOW if place is None else COLOURS[place % len(COLOURS)]
    pattern = "" if place is None else PATTERNS[place % len(PATTERNS)]
    return Bar(
        x=numbers,
        y=list(bars),
        orientation="h",
        name=word,
        legendgroup=word,
        showlegend=is_first,
        text=[number or "" for number in numbers],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"color": INK if place is None else "white", "size": 14},
        marker={"color": colour, "pattern": {"shape": pattern, "fgopacity": 0.3}, "line": {"color": GRID, "width": 1}},
        hovertemplate="%{y}: %{x}<extra>%{fullData.name}</extra>",
    )


def _dress(figure: Figure, title: str, bars: int) -> None:
    """Readable on light and dark pages: transparent, grey ink."""
    figure.update_layout(
        barmode="stack",
        height=150 + 44 * bars,
        font={"color": INK, "size": 13},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        title={"text": title, "font": {"size": 15}, "x": 0.01},
        legend={"orientation": "h", "y": -0.12, "traceorder": "normal"},
        margin={"l": 110, "r": 20, "t": 80, "b": 40},
    )
    figure.update_xaxes(gridcolor=GRID, zeroline=False, dtick=1)
    figure.update_yaxes(autorange="reversed", ticksuffix="  ")
