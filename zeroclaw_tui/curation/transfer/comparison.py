"""Comparing memories that come with those of a store, planning what to write, and writing it.

Import, hydrate and copy are its uses. A memory is known by its agent and its key; a line of notes, whose key is only a
place, by its agent and its text. Memories are read in batches, so that nothing is loaded as a whole.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from uuid import uuid4

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.changes import Outcome, refuse_read_only, run_change
from zeroclaw_tui.curation.hygiene_rules import ExpiryRules, HygieneRule
from zeroclaw_tui.curation.journal_records import Verb
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.profile_choice import profile_to_make
from zeroclaw_tui.curation.running_action import RunningAction
from zeroclaw_tui.curation.transfer.fields import NoteFields, RowFields, SourceInfo, fields_of, with_key
from zeroclaw_tui.curation.transfer.losses import Losses
from zeroclaw_tui.curation.transfer.note_lines import in_one_line, read_line
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import AGENTS, Change, ProgressCallback, Row
from zeroclaw_tui.memory.entry import MemoryEntry, column_text
from zeroclaw_tui.memory.errors import INTERRUPTED, InspectorError, UsageError
from zeroclaw_tui.memory.query import EXCERPTS, HANDLES, OLDEST_STORED, ROWS, MemoryFilter, Query
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import counted, cut, first_names, one_line

OnClash = Literal["skip", "overwrite", "rename"]
What = Literal["new", "same", "taken", "second"]
"""What a memory that comes is to the store. "second" has the key of another one that comes with it."""
SAMPLES = 5
"""How many taken keys a plan names."""
PREVIEWS = 3
"""How many memories a plan shows as the store will have them."""
BATCH_ROWS = 2_000
"""How many memories are compared at once; the store itself writes fewer in one transaction."""

_MAX_DIFFERING = 100
_PREVIEW_LENGTH, _PREVIEW_CELLS = 400, 100
_MAX_CATEGORIES = 8
_KEY_CELLS, _MAX_KEY_LENGTH = 60, 400
_MAX_NAMES = 200
AnyPlan = TypeVar("AnyPlan", bound="Plan")


class Stopped(InspectorError):
    """`on_progress` said no while both sides were read."""

    title = "Stopped"
    exit_code = INTERRUPTED


class Supply(Protocol):
    """The memories that come."""

    @property
    def has_unique_keys(self) -> bool:
        """Whether a key may come only once for an agent, as in a file that people edit."""

    async def source(self) -> SourceInfo:
        """What is known of them before the first one."""

    def batches(self, *, to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """All memories, at most BATCH_ROWS at a time.

        `to_notes` says that notes take them, where lines keep their order.
        """


@dataclass(frozen=True, slots=True)
class StoreSupply:
    """The memories of a store that a filter selects."""

    memory: Memory
    filter: MemoryFilter

    @property
    def has_unique_keys(self) -> bool:
        """Agents that the target does not have may each have a memory of one key."""
        return False

    async def source(self) -> SourceInfo:
        """What the store says of itself."""
        return await SourceInfo.of_store(self.memory)

    async def batches(self, *, to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """Rows in the order of storing; lines of notes day by day, those whose key comes again later at the end."""
        if self.memory.keeps_lines:
            rows = sorted(await self.memory.rows(Query(ROWS, self.filter)), key=_line_order)
            rows = rows if to_notes else _newest_first(rows)
            for start in range(0, len(rows), BATCH_ROWS):
                yield rows[start : start + BATCH_ROWS]
            return
        handles = await self.memory.rows(Query(HANDLES, self.filter, OLDEST_STORED))
        for start in range(0, len(handles), BATCH_ROWS):
            yield await self.memory.rows(Query(ROWS, handles=handles[start : start + BATCH_ROWS]))


def _line_order(row: Row) -> tuple[str, int]:
    label, _, number = row.id.rpartition(":")
    return label, int(number)


def _newest_first(rows: Sequence[Row]) -> list[Row]:
    """Put lines whose key stands further on again behind all others: ZeroClaw appends what it stores anew."""
    last = {(row.agent, read_line(row).key): row.id for row in rows}
    current = set(last.values())
    return sorted(rows, key=lambda row: row.id not in current)


@dataclass(frozen=True, slots=True)
class Compared:
    """A memory that comes: as its source has it, as the store shall have it, and what it is to the store."""

    row: Row
    fitted: Row
    what: What
    existing: Row | None = None


class Fact(NamedTuple):
    """A sentence of a plan, and how it is shown. One with a `number` belongs under the other numbers."""

    words: str
    tone: Literal["plain", "dim", "warning"] = "plain"
    number: int | None = None


_CLASHES: dict[OnClash, str] = {
    "skip": "left out (--overwrite replaces the existing ones, --rename adds these under another key)",
    "overwrite": "replace the existing ones",
    "rename": "added under another key",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would come: how many new memories, how many that are there already, and how many whose key is taken.

    `samples` are the first taken keys, `previews` the first new memories as the store will have them. `losses` are
    sentences about what the store does not keep. `makes` is a sentence about what is created first, or None. Of those
    taken, `second` have the key of another memory that comes with them; only "rename" brings those. `refused` are those
    that the store cannot take at all. `by_category` counts those of a category by what they are to the store. `notes`
    are sentences about what was read, and about what ZeroClaw would soon delete of it.
    """

    new: int
    same: int
    taken: int
    samples: tuple[str, ...] = ()
    previews: tuple[MemoryEntry, ...] = ()
    by_category: tuple[tuple[str, What, int], ...] = ()
    losses: tuple[str, ...] = ()
    makes: str | None = None
    second: int = 0
    refused: int = 0
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many memories there are to come."""
        return self.new + self.same + self.taken + self.refused

    def brings(self, on_clash: OnClash) -> int:
        """How many would be written."""
        more = {"skip": 0, "rename": self.taken, "overwrite": self.taken - self.second}
        return self.new + more[on_clash]

    def leaves(self, on_clash: OnClash) -> int:
        """How many would be left out."""
        return self.count - self.same - self.brings(on_clash)

    def categories(self, on_clash: OnClash) -> tuple[tuple[str, int], ...]:
        """How many of which category would be written, the most first."""
        counts: Counter[str] = Counter()
        for category, what, number in self.by_category:
            counts[category] += number if _is_written(what, on_clash) else 0
        return tuple((+counts).most_common())

    def facts(self, on_clash: OnClash | None = None) -> Iterator[Fact]:
        """What comes, what is there, what is taken and, where it is decided, what becomes of that, and what is lost."""
        if self.makes is not None:
            yield Fact(one_line(self.makes))
        yield Fact("new", number=self.new)
        if self.same:
            yield Fact("already there, the same", number=self.same)
        if self.taken:
            becomes = "" if on_clash is None else f": {_CLASHES[on_clash]}"
            yield Fact(f"whose key is taken{becomes}", "warning", self.taken)
            yield Fact(first_names(self.samples, self.taken), "dim")
        if self.second and on_clash != "rename":
            has, stay = ("has", "stays") if self.second == 1 else ("have", "stay")
            yield Fact(f"{self.second:,} of them {has} the same key as another one of the import and {stay} out")
        yield from map(Fact, self.sentences())

    def sentences(self) -> tuple[str, ...]:
        """What the store cannot keep, then what there is to say of the source."""
        return tuple(map(one_line, (*self.losses, *self.notes)))

    def categories_text(self, on_clash: OnClash) -> str:
        """How many of which category would be written, the most first; "" for nothing."""
        counts = self.categories(on_clash)
        shown, rest = counts[:_MAX_CATEGORIES], counts[_MAX_CATEGORIES:]
        parts = [f"{count:,} {one_line(name) or '(none)'}" for name, count in shown]
        if rest:
            others = "other" if len(rest) == 1 else "others"
            parts.append(f"{sum(count for _, count in rest):,} in {len(rest):,} {others}")
        return ", ".join(parts)

    def preview_texts(self) -> Iterator[tuple[str, str, str]]:
        """Key, category and day, and beginning of the first new memories."""
        for entry in self.previews:
            about = " · ".join(one_line(part) for part in (entry.category, entry.timestamp[:10]) if part)
            yield cut(one_line(entry.key), _PREVIEW_CELLS), about, cut(one_line(entry.content), _PREVIEW_CELLS)

    def as_json(self) -> dict[str, Any]:
        """The plan's part of a document; whoever prints it adds what was chosen."""
        return {
            "new": self.new,
            "same": self.same,
            "taken": self.taken,
            "samples": list(self.samples),
            "makes": self.makes,
        }


def _is_written(what: What, on_clash: OnClash) -> bool:
    if what == "second":
        return on_clash == "rename"
    return what == "new" or (what == "taken" and on_clash != "skip")


@dataclass(slots=True)
class Comparison:
    """Compares batches of memories with a store, and counts.

    `is_empty` says that the store has no memory yet. `with_vectors` compares vectors too. Only a plan counts losses.
    """

    memory: Memory
    fields: RowFields | NoteFields
    has_unique_keys: bool = False
    is_empty: bool = False
    with_vectors: bool = False
    expiry: ExpiryRules | None = None
    is_plan: bool = False
    losses: Losses = field(init=False)
    counts: Counter[What] = field(default_factory=Counter)
    refused: int = 0
    samples: list[str] = field(default_factory=list)
    previews: list[MemoryEntry] = field(default_factory=list)
    categories: Counter[tuple[str, What]] = field(default_factory=Counter)
    expiring: Counter[HygieneRule] = field(default_factory=Counter)
    _number: int = 0
    _seen: dict[int, object] = field(default_factory=dict)
    """By the hash of agent and key: the agent that a file names, or the hash of the content that came."""
    _seen_ids: set[int] = field(default_factory=set)
    _lines: Counter[tuple[str | None, str]] | None = None

    def __post_init__(self) -> None:
        self.losses = Losses(self.fields)

    @classmethod
    async def of(cls, supply: Supply, memory: Memory, target: Target, now: datetime) -> Comparison:
        """Prepare a comparison with the open store of a target, or with the one that will be made."""
        exists = target.library is not None
        fields = await fields_of(await supply.source(), memory, target.config, now, exists=exists)
        is_empty = not exists or await memory.count() == 0
        return cls(memory, fields, supply.has_unique_keys, is_empty)

    @property
    def count(self) -> int:
        """How many memories came."""
        return self.counts.total() + self.refused

    async def compare(self, rows: Sequence[Row]) -> list[Compared]:
        """Compare a batch. Raises UsageError for a key or an id that came before, where that may not be."""
        pairs = await asyncio.to_thread(self._fit, rows)
        if isinstance(self.fields, NoteFields):
            return self._count([await self._compared_line(row, fitted) for row, fitted in pairs])
        existing = {} if self.is_empty else await self._existing({fitted.key for _, fitted in pairs})
        fields = self.fields
        found = await asyncio.to_thread(
            lambda: [self._compared_row(fields, row, fitted, existing) for row, fitted in pairs]
        )
        return self._count(await self._settled(fields, found))

    def _fit(self, rows: Sequence[Row]) -> list[tuple[Row, Row]]:
        pairs = []
        for raw in rows:
            row = self.fields.source.read(raw)
            reason = self.fields.refusal(row)
            if reason is not None:
                self.refused += 1
                self.losses.refuse(reason)
                continue
            fitted = self.fields.fitted(row)
            if self.is_plan:
                self.losses.look(row, fitted)
            pairs.append((row, fitted))
        return pairs

    async def _existing(self, keys: Collection[str]) -> dict[tuple[str | None, str], Row]:
        """The store's memories of these keys, by agent and key."""
        assert isinstance(self.fields, RowFields)
        rows = await self.memory.rows(Query(ROWS, keys=list(keys))) if keys else ()
        return {self.fields.identity(row): row for row in reversed(rows)}

    def _compared_row(
        self, fields: RowFields, row: Row, fitted: Row, existing: dict[tuple[str | None, str], Row]
    ) -> Compared:
        self._number += 1
        identity, content = fields.identity(fitted), hash(fitted.values["content"])
        known = hash(identity)
        if known in self._seen:
            if self.has_unique_keys and self._seen[known] == row.agent:
                raise self._repeated("key", row.key)
            # Agents that the store does not have may each have had a memory of this key.
            return Compared(row, fitted, "same" if self._seen[known] == content else "second")
        self._seen[known] = row.agent if self.has_unique_keys else content
        if self.has_unique_keys and row.id:
            if hash(row.id) in self._seen_ids:
                raise self._repeated("id", row.id)
            self._seen_ids.add(hash(row.id))
        present = existing.get(identity)
        if present is None:
            return Compared(row, fitted, "new")
        is_same = fields.same(row, fitted, present, with_vector=self.with_vectors)
        return Compared(row, fitted, "same" if is_same else "taken", present)

    def _repeated(self, what: str, name: str) -> UsageError:
        return UsageError(
            f"Memory {self._number:,} repeats the {what} {_short_key(name)!r} of an earlier memory.",
            hint="Each memory of an agent needs a key of its own. Delete one of them or change its key.",
        )

    async def _settled(self, fields: RowFields, found: list[Compared]) -> list[Compared]:
        """Give new ids where another memory has them, and find those that were brought under another key before."""
        clashing = {one.fitted.id: renamed(fields, one.fitted) for one in found if one.what in ("taken", "second")}
        brought = {} if not clashing else await self._existing({row.key for row in clashing.values()})
        ids = [] if self.is_empty else [one.fitted.id for one in found if one.what == "new" and one.row.id]
        taken = {entry.id for entry in await self.memory.rows(Query(EXCERPTS, ids=ids))} if ids else set()
        settled = []
        for one in found:
            other = brought.get(fields.identity(clashing[one.fitted.id])) if one.fitted.id in clashing else None
            if other is not None and other.entry().content == one.fitted.entry().content:
                settled.append(replace(one, what="same"))
            elif one.fitted.id in taken and one.what == "new":
                fitted = one.fitted
                new_id = fields.new_id(fitted.key, fitted.values["content"], fitted.agent)
                settled.append(replace(one, fitted=with_key(fitted, fitted.key, new_id)))
            else:
                settled.append(one)
        return settled

    async def _compared_line(self, row: Row, fitted: Row) -> Compared:
        """A line is there if the store has it as often as it came so far."""
        if self._lines is None:
            rows = () if self.is_empty else await self.memory.rows(Query(ROWS))
            self._lines = Counter((one.agent, in_one_line(one.entry().content)) for one in rows)
        line = fitted.agent, column_text(fitted.values["content"])
        what: What = "same" if self._lines[line] > 0 else "new"
        self._lines[line] -= 1
        return Compared(row, fitted, what)

    def _count(self, found: list[Compared]) -> list[Compared]:
        for one in found:
            self.counts[one.what] += 1
            category = column_text(one.fitted.values.get("category")), one.what
            if category in self.categories or len(self.categories) < _MAX_NAMES:
                self.categories[category] += 1
            if one.what == "new":
                rule = None if self.expiry is None else self.expiry.rule(one.fitted)
                if rule is not None:
                    self.expiring[rule] += 1
                if len(self.previews) < PREVIEWS:
                    entry = one.fitted.entry()
                    self.previews.append(replace(entry, content=entry.content[:_PREVIEW_LENGTH]))
            elif one.what != "same" and len(self.samples) < SAMPLES:
                self.samples.append(_short_key(one.fitted.key))
        return found

    def plan(self, kind: Callable[..., AnyPlan], makes: str | None, notes: Iterable[str] = (), **more: Any) -> AnyPlan:
        """Make the plan of what was counted; `more` is what its kind has besides."""
        return kind(
            new=self.counts["new"],
            same=self.counts["same"],
            taken=self.counts["taken"] + self.counts["second"],
            samples=tuple(self.samples),
            previews=tuple(self.previews),
            by_category=tuple((*category, number) for category, number in self.categories.items()),
            losses=tuple(self.losses.sentences()),
            makes=makes if self.counts else None,
            second=self.counts["second"],
            refused=self.refused,
            notes=(*self._expiring(), *notes),
            **more,
        )

    def _expiring(self) -> Iterator[str]:
        for rule, count in self.expiring.items():
            says = f"{rule.sentence} ({', '.join(rule.keys)})"
            yield f"ZeroClaw's hygiene will archive or delete {count:,} of them: {says}."


def renamed(fields: RowFields, fitted: Row) -> Row:
    """Return a memory under a key made from its content, which is the same each time."""
    content = fitted.values["content"]
    data = content if isinstance(content, bytes) else column_text(content).encode("utf-8", "surrogatepass")
    key = f"{fitted.key} (imported {hashlib.sha256(data).hexdigest()[:4]})"
    return with_key(fitted, key, fields.new_id(key, content, fitted.agent))


async def compare_all(
    supply: Supply, memory: Memory, target: Target, now: datetime, on_progress: ProgressCallback | None
) -> Comparison:
    """Compare everything that comes, for a plan. Raises Stopped if `on_progress` says no."""
    library = target.library
    if library is None:
        profile = await asyncio.to_thread(profile_to_make, target.config, target.profile)
    else:
        profile = library.profile.profile
    expiry = await asyncio.to_thread(ExpiryRules.of, target.config, memory, profile.version, now)
    comparison = await Comparison.of(supply, memory, target, now)
    comparison.expiry, comparison.is_plan = expiry, True
    async for rows in supply.batches(to_notes=memory.keeps_lines):
        if on_progress is not None and not on_progress(comparison.count):
            raise Stopped("Reading was stopped.", hint="Nothing was imported.")
        await comparison.compare(rows)
    return comparison


@dataclass(slots=True)
class Delivery:
    """Writes what a store lacks, batch by batch, in one change set."""

    library: Library
    comparison: Comparison
    on_clash: OnClash
    written: int = 0
    renamed: dict[str, str] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)
    """Hashes of agent and key of the memories that were left out because their key is taken."""
    skipped: int = 0
    """How many were left out because another program wrote them between the comparison and the write."""
    is_stopped: bool = False

    async def write(self, supply: Supply, action: RunningAction, on_progress: ProgressCallback, now: datetime) -> None:
        """Compare and write everything; `on_progress` gets how many are written and may say no."""
        memory = self.library.memory
        async for rows in supply.batches(to_notes=memory.keeps_lines):
            changes = [
                change for one in await self.comparison.compare(rows) if (change := self._change(one)) is not None
            ]
            if changes:
                changes = [*self._new_agents(changes, now), *changes]
                result = await memory.apply(changes, action, on_conflict="skip", on_progress=self._added(on_progress))
                self.written += result.written
                self.skipped += len(result.skipped)
                self.notes |= dict.fromkeys(result.notes)
                self.is_stopped = result.cancelled
            if self.is_stopped or not on_progress(self.written):
                self.is_stopped = True
                return

    def _added(self, on_progress: ProgressCallback) -> ProgressCallback:
        """Count what earlier batches wrote too."""
        before = self.written
        return lambda done: on_progress(before + done)

    def _change(self, one: Compared) -> Change | None:
        fields = self.comparison.fields
        if one.what in ("taken", "second") and isinstance(fields, RowFields):
            if not _is_written(one.what, self.on_clash):
                self.left_out.add(hash(fields.identity(one.fitted)))
                return None
            if one.existing is not None and self.on_clash == "overwrite":
                return Change(one.existing, fields.replacing(one.row, one.fitted, one.existing))
            row = renamed(fields, one.fitted)
            self.renamed[one.fitted.key] = row.key
            return Change(None, row)
        return Change(None, one.fitted) if one.what == "new" else None

    def _new_agents(self, changes: Sequence[Change], now: datetime) -> list[Change]:
        """The agents that memories refer to and the store does not have yet."""
        fields = self.comparison.fields
        if not (self.library.memory.agents_are_rows and isinstance(fields, RowFields)):
            return []
        aliases = dict.fromkeys(change.after.agent for change in changes if isinstance(change.after, Row))
        unknown = [alias for alias in aliases if alias is not None and alias not in fields.agents]
        self.comparison.fields = replace(fields, agents=fields.agents | set(unknown)) if unknown else fields
        return [_agent(alias, now.isoformat()) for alias in unknown]


def _agent(alias: str, now: str) -> Change:
    made = str(uuid4())
    return Change(None, Row(made, {"id": made, "alias": alias, "created_at": now}, None, alias, AGENTS))


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
    now = library.trash.now()
    comparison = await Comparison.of(supply, library.memory, target, now)
    delivery = Delivery(library, comparison, on_clash)

    async def work(action: RunningAction, going: ProgressCallback) -> Outcome:
        await delivery.write(supply, action, going, now)
        if delivery.skipped:
            delivery.notes[f"Left out {counted(delivery.skipped)}: another program wrote the same key meanwhile."] = (
                None
            )
        if verb == "copy" and delivery.written:
            await action.set_summary(f"copied {delivery.written:,} {summary.removeprefix('copied ')}")
        return Outcome(
            verb,
            delivery.written,
            cancelled=delivery.is_stopped,
            notes=tuple(delivery.notes),
            renamed=delivery.renamed,
        )

    return await run_change(library, verb, summary, work, on_progress), delivery


async def verify(
    supply: Supply, target: Target, delivery: Delivery, on_progress: ProgressCallback | None
) -> tuple[int, int, tuple[str, ...]]:
    """Compare again: how many memories the store has, how many it should have and has not, and their first keys.

    Raises Stopped if `on_progress` says no.
    """
    library = delivery.library
    comparison = await Comparison.of(supply, library.memory, target, library.trash.now())
    comparison.with_vectors = True
    differing: list[str] = []
    differs = 0
    async for rows in supply.batches(to_notes=library.memory.keeps_lines):
        if on_progress is not None and not on_progress(delivery.written):
            raise Stopped("The check was stopped.", hint="The memories are copied.")
        for one in await comparison.compare(rows):
            fields = comparison.fields
            is_left = isinstance(fields, RowFields) and hash(fields.identity(one.fitted)) in delivery.left_out
            if one.what != "same" and not is_left:
                differs += 1
                differing += [_short_key(one.fitted.key)] if len(differing) < _MAX_DIFFERING else []
    return comparison.counts["same"], differs, tuple(differing)


def refuse_unless_written(memory: Memory) -> None:
    """Raises Refused for a store that takes nothing."""
    if "write" in memory.why_not:
        raise memory.refuse_to_write()


def _short_key(key: str) -> str:
    return cut(masked(key[:_MAX_KEY_LENGTH]), _KEY_CELLS)
