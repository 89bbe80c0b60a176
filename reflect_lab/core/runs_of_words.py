"""Runs of words that a quote shares with a source, found in one walk over the quote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from reflect_lab.core.critique import GroundKind
from reflect_lab.core.words import Word, is_content, words

MAX_READ = 200_000
"""Characters of a quote or a source that are compared, from its start."""


@dataclass(frozen=True)
class Thresholds:
    """From where on words are a quote, and a number is pointed at. `docs/grounding.md` says what others would keep.

    A shared run of words is a quote with so many `words` (or all of a shorter source), `content_words` among them. A
    bare number of the draft needs so many `digits`; with fewer it counts only together with the word beside it.
    """

    words: int = 3
    content_words: int = 1
    is_content: Callable[[str], bool] = is_content
    digits: int = 2


THRESHOLDS = Thresholds()


@dataclass(frozen=True)
class Source:
    """A text that may be quoted. `offset` is where it starts in the named source's own text."""

    kind: GroundKind
    name: str
    text: str
    offset: int = 0


@dataclass(frozen=True)
class Quote:
    """A shared run of words: where it stands in the source's own text, and the words."""

    source: Source
    start: int
    end: int
    words: tuple[str, ...]


class Runs:
    """All runs of words of a source, as a suffix automaton: the longest one that a quote shares is found in one walk
    over the quote, however often words repeat (a model that repeats itself would take minutes otherwise).

    Blumer et al., "The smallest automaton recognizing the subwords of a text" (1985).
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    @cached_property
    def words(self) -> tuple[Word, ...]:
        return words(self.source.text[:MAX_READ])

    @cached_property
    def _states(self) -> list[_State]:
        states = [_State(length=0, end=0)]
        last = 0
        for end, word in enumerate(self.words, 1):
            last = _extend(states, last, word.text, end)
        return states

    def longest(self, quoted: Sequence[Word], thresholds: Thresholds = THRESHOLDS) -> tuple[int, int] | None:
        """The longest shared run that counts as a quote, as a range of the source's words; the first of equals."""
        least = min(thresholds.words, len(self.words))
        if not least:
            return None
        states = self._states
        at, length = 0, 0
        content = [0]
        best: tuple[int, int] | None = None
        for place, word in enumerate(quoted):
            while at and word.text not in states[at].after:
                at = states[at].shorter
                length = states[at].length
            if word.text in states[at].after:
                at, length = states[at].after[word.text], length + 1
            content.append(content[-1] + thresholds.is_content(word.text))
            is_longer = best is None or length > best[1] - best[0]
            if length >= least and is_longer and content[-1] - content[place + 1 - length] >= thresholds.content_words:
                best = (states[at].end - length, states[at].end)
        return best


@dataclass
class _State:
    """Runs of words with the same ends in a text: the longest has `length` words, the first of them ends at `end`.

    `after` leads on by one word; `shorter` is the state of the longest run at the end of these that ends elsewhere too.
    """

    length: int
    end: int
    shorter: int = -1
    after: dict[str, int] = field(default_factory=dict)


def _extend(states: list[_State], last: int, word: str, end: int) -> int:
    """Adds the text's next word; `last` is the state of the whole text before it. Returns that of the text with it."""
    new = len(states)
    states.append(_State(length=states[last].length + 1, end=end, shorter=0))
    at = last
    while at >= 0 and word not in states[at].after:
        states[at].after[word] = new
        at = states[at].shorter
    if at < 0:
        return new
    old = states[at].after[word]
    if states[old].length == states[at].length + 1:
        states[new].shorter = old
        return new
    split = len(states)
    states.append(replace(states[old], length=states[at].length + 1, after=dict(states[old].after)))
    states[old].shorter = states[new].shorter = split
    while at >= 0 and states[at].after.get(word) == old:
        states[at].after[word] = split
        at = states[at].shorter
    return new


def longest_quote(quoted: Sequence[Word], sources: Sequence[Runs], thresholds: Thresholds = THRESHOLDS) -> Quote | None:
    """The longest run of words that the quote shares with a source; the first of equals; None if all are too short."""
    best: Quote | None = None
    for source in sources:
        run = source.longest(quoted, thresholds)
        if run and (best is None or run[1] - run[0] > len(best.words)):
            shared, offset = source.words[run[0] : run[1]], source.source.offset
            best = Quote(
                source.source, offset + shared[0].start, offset + shared[-1].end, tuple(w.text for w in shared)
            )
    return best
