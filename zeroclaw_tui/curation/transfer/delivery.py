"""Writing what a store lacks of the memories that come, and checking it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from zeroclaw_tui.curation.changes import refuse_read_only, run_change
from zeroclaw_tui.curation.journal_records import Verb
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.running_action import RunningAction
from zeroclaw_tui.curation.transfer.comparison import Compared, Comparison, Stopped, renamed, short_key
from zeroclaw_tui.curation.transfer.incoming import Supply
from zeroclaw_tui.curation.transfer.plan import OnClash
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import AGENTS, Change, ProgressCallback, Row
from zeroclaw_tui.memory.text import counted

_MAX_DIFFERING = 100


@dataclass(slots=True)
class Delivery:
    """Writes batch by batch, in one change set.

    `left` counts the memories that were left out because their key is taken; `left_out` has hashes of their agents and
    keys. `skipped` counts those whose key or id was taken between the comparison and the write.
    """

    library: Library
    supply: Supply
    comparison: Comparison
    on_clash: OnClash
    written: int = 0
    renamed: dict[str, str] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    left: int = 0
    left_out: set[int] = field(default_factory=set)
    skipped: int = 0

    async def write(self, action: RunningAction, on_progress: ProgressCallback) -> bool:
        """Compare and write everything; `on_progress` gets how many are written. Returns False if it said no."""
        memory = self.library.memory
        async for rows in self.supply.batches(memory.about.keeps_lines):
            compared = await self.comparison.compare(rows)
            changes = [change for one in compared if (change := self._change(one)) is not None]
            if changes:
                result = await memory.apply(
                    [*self._new_agents(changes), *changes],
                    action,
                    on_conflict="skip",
                    on_progress=lambda done: on_progress(self.written + done),
                )
                self.written += result.written
                self.skipped += len(result.skipped)
                self.notes |= dict.fromkeys(result.notes)
                if result.cancelled:
                    return False
            if not on_progress(self.written):
                return False
        return True

    def _change(self, one: Compared) -> Change | None:
        incoming = self.comparison.incoming
        if one.what == "same":
            return None
        if one.what == "new":
            return Change(None, one.stored)
        if self.on_clash == "skip":
            self.left += 1
            self.left_out.add(hash(incoming.identity(one.stored)))
            return None
        if one.existing is not None and self.on_clash == "overwrite":
            return Change(one.existing, incoming.replacing(one.row, one.stored, one.existing))
        row = renamed(incoming, one.stored)
        self.renamed[one.stored.key] = row.key
        return Change(None, row)

    def _new_agents(self, changes: Sequence[Change]) -> list[Change]:
        """The agents that memories refer to and the store does not have yet."""
        incoming = self.comparison.incoming
        aliases = dict.fromkeys(change.after.agent for change in changes if isinstance(change.after, Row))
        unknown = [alias for alias in aliases if alias is not None and alias not in incoming.agents]
        incoming.agents |= set(unknown)
        made = [{"id": str(uuid4()), "alias": alias, "created_at": incoming.now} for alias in unknown]
        return [Change(None, Row(agent["id"], agent, None, agent["alias"], AGENTS)) for agent in made]


async def deliver(
    library: Library,
    verb: Verb,
    summary: str,
    supply: Supply,
    target: Target,
    on_clash: OnClash,
    on_progress: ProgressCallback | None,
) -> tuple[Outcome, Delivery]:
    """Bring everything that comes into an open store as one change set. Raises what writing raises."""
    refuse_read_only(library)
    comparison = await Comparison.of(supply, library.memory, target, library.trash.now())
    delivery = Delivery(library, supply, comparison, on_clash)

    async def work(action: RunningAction, report_progress: ProgressCallback) -> Outcome:
        is_whole = await delivery.write(action, report_progress)
        notes = tuple(delivery.notes)
        if delivery.skipped:
            notes = (*notes, f"Left out {counted(delivery.skipped)}, because the key or the ID is taken.")
        return Outcome(verb, delivery.written, cancelled=not is_whole, notes=notes, renamed=delivery.renamed)

    return await run_change(library, verb, summary, work, on_progress), delivery


async def verify(
    target: Target, delivery: Delivery, on_progress: ProgressCallback | None
) -> tuple[int, int, tuple[str, ...]]:
    """Compare again: how many memories the store has, how many it should have and has not, and their first keys."""
    library, supply = delivery.library, delivery.supply
    comparison = await Comparison.of(supply, library.memory, target, library.trash.now(), with_vectors=True)
    differing: list[str] = []
    differs = 0
    async for rows in supply.batches(library.memory.about.keeps_lines):
        if on_progress is not None and not on_progress(delivery.written):
            raise Stopped("The check was stopped.", hint="The memories are copied.")
        for one in await comparison.compare(rows):
            if one.what != "same" and hash(comparison.incoming.identity(one.stored)) not in delivery.left_out:
                differs += 1
                differing += [short_key(one.stored.key)] if len(differing) < _MAX_DIFFERING else []
    return comparison.counts["same"], differs, tuple(differing)
