"""What grounding costs: 20 issues against tasks of 5, 20 and 80 kB, as ratios to reading the same text into words once.

python benchmarks/grounding_speed.py [TRIES]
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

from reflect_lab.core.critique import RaisedIssue
from reflect_lab.core.grounding import Sources
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft
from reflect_lab.core.task import Task
from reflect_lab.core.words import words

ISSUES = 20


def prose(size: int, seed: int) -> str:
    """Text of about this many characters, of 2,000 different words and some numbers."""
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("aeioulnrstkm", k=chance.randint(2, 9))) for _ in range(2000)]
    said: list[str] = []
    while size > 0:
        word = str(chance.randint(10, 9999)) if chance.random() < 0.03 else chance.choice(vocabulary)
        said.append(word)
        size -= len(word) + 1
    return " ".join(said)


def seconds(work: Callable[[], object], tries: int) -> float:
    """The least of several tries: a busy machine only ever adds."""
    taken = []
    for _ in range(tries):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def ground_all(task: Task, draft: Draft, issues: list[RaisedIssue]) -> None:
    sources = Sources(task, draft, (), Policy())
    for issue in issues:
        sources.ground(issue)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tries", type=int, nargs="?", default=5)
    tries = parser.parse_args().tries
    issues = [RaisedIssue(id=str(i), severity="major", evidence=prose(300, i)) for i in range(ISSUES)]
    print("| task | words once | 20 issues | ratio |\n|---|---|---|---|")
    for size in (5_000, 20_000, 80_000):
        task, draft = Task(text=prose(size, 1000)), Draft(index=0, text=prose(4_000, 2000))
        reading = seconds(lambda task=task: words(task.text), tries)  # type: ignore[misc]
        whole = seconds(lambda task=task, draft=draft: ground_all(task, draft, issues), tries)  # type: ignore[misc]
        print(f"| {size // 1000} kB | {reading * 1000:.1f} ms | {whole * 1000:.1f} ms | {whole / reading:.1f} |")


if __name__ == "__main__":
    main()
