"""Doing what a hygiene plan says: rows to the trash, files archived and purged as ZeroClaw does, state file written."""

from __future__ import annotations

from collections.abc import Collection

from zeroclaw_tui.curation.changing import Outcome
from zeroclaw_tui.curation.hygiene.plan import HygienePlan
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Advance


async def run_hygiene(
    library: Library, plan: HygienePlan, *, without: Collection[str] = (), advance: Advance | None = None
) -> Outcome:
    """Do the items of a plan but those of the ids in `without`, then write the state file (last run = now).

    One action of verb "hygiene": one undo takes all of it back, files too. `count` is how many items were done;
    `changed` and `gone` name items left alone because they changed or vanished since the plan, each also a note. A
    folder that takes no files costs its items, each with a note, and the rest goes on. Raises WrongUse for a plan of a
    moment later than now, Refused where the store is read-only, and what the trash raises.
    """
    raise NotImplementedError
