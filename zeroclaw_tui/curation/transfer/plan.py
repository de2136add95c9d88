"""What an import or a copy would bring, in numbers, sentences and JSON; and writing it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import backend_info
from zeroclaw_tui.curation.changes import refuse_read_only, run_change
from zeroclaw_tui.curation.journal import RunningAction
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.transfer.comparison import Compared, Comparison, Stopped, Supply, What, lost_fields, renamed
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import AGENTS, Change, ProgressCallback, Row
from zeroclaw_tui.memory.note_lines import is_line, read_line
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, cut, first_names, one_line

OnClash = Literal["skip", "overwrite", "rename"]
TransferVerb = Literal["import", "hydrate", "copy"]

_CLASHES: dict[OnClash, str] = {
    "skip": "left out (--overwrite replaces the existing ones, --rename adds these under another key)",
    "overwrite": "replace the existing ones",
    "rename": "added under another key",
}
_MAX_SAMPLES = 5
_KEY_CELLS, _MAX_KEY_LENGTH = 60, 400
_MAX_NAMES, _MAX_NAMES_SHOWN, _NAME_CELLS = 200, 12, 30
_MAX_DIFFERING = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would come: how many new memories, how many that are there already, and how many whose key is taken.

    `samples` are the first taken keys. `notes` are sentences about what the store does not keep and what was not read,
    `makes` is one about what is created first, or None. Of an import `file` and `format` say what was read, and
    `flagged` counts the memories that seem to hold a secret or a threat and are left out.
    """

    verb: TransferVerb
    supply: Supply = field(repr=False)
    new: int
    same: int
    taken: int
    samples: tuple[str, ...]
    makes: str | None
    notes: tuple[str, ...]
    file: Path = Path()
    format: str = ""
    flagged: int = 0

    @property
    def count(self) -> int:
        return self.new + self.same + self.taken

    def brings(self, on_clash: OnClash) -> int:
        return self.new + (0 if on_clash == "skip" else self.taken)

    def counts(self, on_clash: OnClash | None = None) -> Iterator[str]:
        """How many are new, already there, and whose key is taken, with what becomes of those where it is decided."""
        yield f"{self.new:,} new"
        if self.same:
            yield f"{self.same:,} already there, the same"
        if self.taken:
            becomes = "" if on_clash is None else f": {_CLASHES[on_clash]}"
            yield f"{self.taken:,} whose key is taken{becomes}"

    def as_json(self) -> dict[str, Any]:
        of_file = {"file": str(self.file), "format": self.format} if self.format else {}
        return of_file | {name: getattr(self, name) for name in ("new", "same", "taken", "samples", "makes")}


async def plan_transfer(
    verb: TransferVerb,
    supply: Supply,
    memory: Memory,
    target: Target,
    now: datetime,
    on_progress: ProgressCallback | None,
) -> Plan:
    """Compare everything that comes. Raises Stopped if `on_progress` says no."""
    comparison = await Comparison.of(supply, memory, now, exists=target.library is not None)
    lost, samples = Counter[str](), list[str]()

    def see(one: Compared) -> None:
        stored = read_line(one.stored) if memory.about.keeps_lines and not is_line(one.row) else one.stored
        # Another program may have written any names.
        lost.update(name for name in lost_fields(one.row, stored) if name in lost or len(lost) < _MAX_NAMES)
        if one.what == "taken" and len(samples) < _MAX_SAMPLES:
            samples.append(_short_key(one.stored.key))

    counts = await _compare_all(comparison, see, on_progress)
    info = backend_info(memory.name)
    label = f"The store {memory.name}" if info is None else info.title
    most_first = sorted(lost.items(), key=lambda field: (-field[1], field[0]))
    fields = [f"{one_line(name)} ({count:,})" for name, count in most_first]
    named = first_names(fields, most=_MAX_NAMES_SHOWN, longest=_NAME_CELLS)
    return Plan(
        verb=verb,
        supply=supply,
        new=counts["new"],
        same=counts["same"],
        taken=counts["taken"],
        samples=tuple(samples),
        makes=f"{one_line(target.location)} is created first." if target.library is None and counts else None,
        notes=(f"{label} drops or changes: {named}.",) if lost else (),
    )


async def _compare_all(
    comparison: Comparison, see: Callable[[Compared], None], on_progress: ProgressCallback | None
) -> Counter[What]:
    """Look at everything that comes, and count what it is to the store. Raises Stopped if `on_progress` says no."""
    async for found in comparison.batches():
        await asyncio.to_thread(lambda batch: list(map(see, batch)), found)
        if on_progress is not None and not on_progress(comparison.counts.total()):
            raise Stopped("Reading was stopped.", hint="Nothing was imported.")
    return comparison.counts


def _short_key(key: str) -> str:
    return cut(masked(key[:_MAX_KEY_LENGTH]), _KEY_CELLS)


@dataclass(slots=True)
class Delivery:
    """Brings everything of a supply into an open store, batch by batch in one change set.

    `left` counts the memories that were left out because their key is taken; `left_out` has hashes of their agents and
    keys.
    """

    library: Library
    supply: Supply
    on_clash: OnClash
    written: int = 0
    renamed: dict[str, str] = field(default_factory=dict)
    left: int = 0
    left_out: set[int] = field(default_factory=set)

    async def run(self, verb: TransferVerb, summary: str, on_progress: ProgressCallback | None) -> Outcome:
        """Compare and write everything. Raises what writing raises."""
        refuse_read_only(self.library)
        memory = self.library.memory
        comparison = await Comparison.of(self.supply, memory, self.library.trash.now())

        async def work(action: RunningAction, report_progress: ProgressCallback) -> Outcome:
            skipped, cancelled, notes = 0, False, dict[str, None]()
            async for compared in comparison.batches():
                changes = [change for one in compared if (change := self._change(comparison, one))]
                if changes:
                    result = await memory.apply(
                        [*_new_agents(comparison, changes), *changes],
                        action,
                        on_conflict="skip",
                        on_progress=lambda done: report_progress(self.written + done),
                    )
                    self.written += result.written
                    skipped += len(result.skipped)
                    notes |= dict.fromkeys(result.notes)
                    cancelled = result.cancelled
                if cancelled or not report_progress(self.written):
                    cancelled = True
                    break
            if skipped:
                notes[f"Left out {counted(skipped)}, because the key or the ID is taken."] = None
            return Outcome(verb, self.written, cancelled=cancelled, notes=tuple(notes), renamed=self.renamed)

        return await run_change(self.library, verb, summary, work, on_progress)

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
        row = renamed(one.stored)
        self.renamed[one.stored.key] = row.key
        return Change(None, row)

    async def verify(self, on_progress: ProgressCallback | None) -> tuple[int, int, tuple[str, ...]]:
        """Compare again: how many memories the store has, how many it should have and has not, and their first keys."""
        library = self.library
        comparison = await Comparison.of(self.supply, library.memory, library.trash.now(), with_vectors=True)
        differing, differs = list[str](), 0

        def see(one: Compared) -> None:
            nonlocal differs
            if one.what != "same" and hash(comparison.identity(one.stored)) not in self.left_out:
                differs += 1
                differing.extend([_short_key(one.stored.key)] if len(differing) < _MAX_DIFFERING else [])

        counts = await _compare_all(comparison, see, on_progress)
        return counts["same"], differs, tuple(differing)


def _new_agents(comparison: Comparison, changes: Sequence[Change]) -> list[Change]:
    """The agents that memories refer to and the store does not have yet."""
    aliases = dict.fromkeys(change.after.agent for change in changes if isinstance(change.after, Row))
    unknown = [alias for alias in aliases if alias is not None and alias not in comparison.agents]
    comparison.agents |= set(unknown)
    made = [{"id": str(uuid4()), "alias": alias, "created_at": comparison.now} for alias in unknown]
    return [Change(None, Row(agent["id"], agent, None, agent["alias"], AGENTS)) for agent in made]
