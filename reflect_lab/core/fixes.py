"""Fixes: a check that fails may offer the mended draft itself, and then no model is asked (DESIGN 4.2)."""

from __future__ import annotations

from reflect_lab.core import progress
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Round, Run
from reflect_lab.core.sameness import comparable


def offered_fix(run: Run, before: Round) -> Evidence | None:
    """The evidence on the draft of `before` whose `fix` becomes the next draft; None where a model must revise.

    A fix is taken where it may be all that is missing: every failed piece of authoritative evidence offers one, and no
    critic's issue blocks. Anything else needs a model anyway, which is then sent all problems at once, so that no
    revision is spent on half of them. Of several fixes the first is taken, in the order of the checks; the others are
    offered again if their problem stays. A fix that is empty or repeats an earlier draft would lead nowhere. A round
    of several candidates is always written by the model.
    """
    failed = progress.failed_evidence(before)
    is_asked = before.critique is not None and any(i.source == "critic" for i in before.critique.blocking)
    if is_asked or run.policy.rules.width > 1 or any(e.fix is None for e in failed):
        return None
    earlier = {r.draft.comparable for r in run.rounds[: before.index + 1]}
    return next((e for e in failed if e.fix and e.fix.strip() and comparable(e.fix) not in earlier), None)
