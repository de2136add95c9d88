"""Writing what a store lacks of the memories that come, and checking it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from zeroclaw_tui.curation.changes import refuse_read_only, run_change
from zeroclaw_tui.curation.journal import RunningAction
from zeroclaw_tui.curation.journal_records import Verb
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.transfer.comparison import Compared, Comparison
from zeroclaw_tui.curation.transfer.plan import OnClash, short_key
from zeroclaw_tui.curation.transfer.supply import Stopped, Supply
from zeroclaw_tui.memory.change import AGENTS, Change, ProgressCallback, Row
from zeroclaw_tui.memory.text import counted

_MAX_DIFFERING = 100


@dataclass(slots=True)
class Delivery:
    """Brings everything of a supply into an open store, batch by batch in one change set.

    `left` counts the memories that were left out because their key is taken; `left_out` has hashes of their agents and
    keys. `skipped` counts those whose key or id was taken between the comparison and the write.
    """

    library: Library
    supply: Supply
    on_clash: OnClash
    written: int = 0
    renamed: dict[str, str] = field(default_factory=dict)
    left: int = 0
    left_out: set[int] = field(default_factory=set)

    async def run(self, verb: Verb, summary: str, on_progress: ProgressCallback | None) -> Outcome:
        """Compare and write everything. Raises what writing raises."""
        library = self.library
        refuse_read_only(library)
        comparison = await Comparison.of(self.supply, library.memory, library.trash.now())

        async def work(action: RunningAction, report_progress: ProgressCallback) -> Outcome:
            return await self._write(verb, comparison, action, report_progress)

        return await run_change(library, verb, summary, work, on_progress)

    async def _write(
        self, verb: Verb, comparison: Comparison, action: RunningAction, on_progress: ProgressCallback
    ) -> Outcome:
        """Write all batches; `on_progress` gets how many memories are written."""
        memory, skipped, cancelled = self.library.memory, 0, False
        notes: dict[str, None] = {}
        async for rows in self.supply.batches(memory.about.keeps_lines):
            compared = await comparison.compare(rows)
            changes = [change for one in compared if (change := self._change(comparison, one)) is not None]
            if changes:
                result = await memory.apply(
                    [*_new_agents(comparison, changes), *changes],
                    action,
                    on_conflict="skip",
                    on_progress=lambda done: on_progress(self.written + done),
                )
                self.written += result.written
                skipped += len(result.skipped)
                notes |= dict.fromkeys(result.notes)
                cancelled = result.cancelled
            if cancelled or not on_progress(self.written):
                cancelled = True
                break
        if skipped:
            notes[f"Left out {counted(skipped)}, because the key or the ID is taken."] = None
        return Outcome(verb, self.written, cancelled=cancelled, notes=tuple(notes), renamed=self.renamed)

    def _change(self, comparison: Comparison, one: Compared) -> Change | None:
        if one.what == "same":
            return None
        if one.what == "new":
            return Change(None, one.stored)
        if self.on_clash == "skip":
            self.left += 1
            self.left_out.add(hash(comparison.identity(one.stored)))
            return None
        if one.existing is not None and self.on_clash == "overwrite":
            return Change(one.existing, comparison.replacing(one.row, one.stored, one.existing))
        row = comparison.renamed(one.stored)
        self.renamed[one.stored.key] = row.key
        return Change(None, row)

    async def verify(self, on_progress: ProgressCallback | None) -> tuple[int, int, tuple[str, ...]]:
        """Compare again: how many memories the store has, how many it should have and has not, and their first keys."""
        memory = self.library.memory
        comparison = await Comparison.of(self.supply, memory, self.library.trash.now(), with_vectors=True)
        differing: list[str] = []
        differs = 0
        async for rows in self.supply.batches(memory.about.keeps_lines):
            if on_progress is not None and not on_progress(self.written):
                raise Stopped("The check was stopped.", hint="The memories are copied.")
            for one in await comparison.compare(rows):
                if one.what != "same" and hash(comparison.identity(one.stored)) not in self.left_out:
                    differs += 1
                    differing += [short_key(one.stored.key)] if len(differing) < _MAX_DIFFERING else []
        return comparison.counts["same"], differs, tuple(differing)


def _new_agents(comparison: Comparison, changes: Sequence[Change]) -> list[Change]:
    """The agents that memories refer to and the store does not have yet."""
    aliases = dict.fromkeys(change.after.agent for change in changes if isinstance(change.after, Row))
    unknown = [alias for alias in aliases if alias is not None and alias not in comparison.agents]
    comparison.agents |= set(unknown)
    made = [{"id": str(uuid4()), "alias": alias, "created_at": comparison.now} for alias in unknown]
    return [Change(None, Row(agent["id"], agent, None, agent["alias"], AGENTS)) for agent in made]
