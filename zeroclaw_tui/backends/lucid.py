"""The Lucid bridge: recall from the local brain.db, and from the lucid program if too few memories are found.

The program runs without a shell and with a timeout. Its output is parsed and merged as in ZeroClaw.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.about import About, Notice
from zeroclaw_tui.backends.base import T
from zeroclaw_tui.backends.program import run_program
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.backends.tables import local_now
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.schema import settings_of
from zeroclaw_tui.config.storage import source_of
from zeroclaw_tui.memory.change import ApplyResult, Change, Draft, Edit, Journal
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotReachable, Refused
from zeroclaw_tui.memory.query import Query
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE, counted
from zeroclaw_tui.scoring.decide import store_recall
from zeroclaw_tui.scoring.evidence import DEFAULT_NAMESPACE, Evidence, OwnEvidence, StageEvidence, is_within_bounds
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, Trial, Version, parse_version
from zeroclaw_tui.scoring.stages import lists_recent

if TYPE_CHECKING:
    import numpy as np

STAGE = "lucid"
SCALE = "lucid by rank: 1.0, 0.95, 0.90 … 0.1"
OPENING, CLOSING = "<lucid-context>", "</lucid-context>"
_CATEGORIES = {
    "decision": "core",
    "learning": "core",
    "solution": "core",
    "context": "conversation",
    "conversation": "conversation",
    "bug": "daily",
}
_TYPES = {"core": "decision", "daily": "context", "conversation": "conversation"}

NO_DELETE = "Lucid keeps its own copy: its program has no command to delete."
NOT_CHANGEABLE = "This memory is lucid's own and cannot be changed or deleted here."
NOT_FOR_AGENTS = (
    "ZeroClaw >= 0.8.0 asks lucid only if no agent is named; its agents recall from the local database alone."
)
_RUNS = "Recall runs the program lucid if too few local memories match."
_STORES = "New memories are also stored in lucid; deletions, edits, undo, imports and copies are not passed on."


@dataclass(frozen=True, slots=True)
class LucidSettings:
    """The settings of one version, by default those up to 0.8.3. Times are in milliseconds, `budget` in tokens.

    With `local_hit_threshold` or more local hits, lucid is not run.
    """

    binary_path: str = "lucid"
    budget: int = 200
    local_hit_threshold: int = 3
    recall_timeout_ms: int = 500
    store_timeout_ms: int = 800
    failure_cooldown_ms: int = 15_000


@dataclass(frozen=True, slots=True)
class LucidConfig:
    """The settings from the variables ZEROCLAW_LUCID_* and from the table [storage.lucid.<alias>]."""

    variables: Mapping[str, Any]
    table: Mapping[str, Any]

    @classmethod
    def of(cls, config: MemoryConfig) -> LucidConfig:
        """Split the settings of a config by their source."""
        names = frozenset(source_of(setting.variable) for setting in settings_of("lucid"))
        by_variable = {name for name in config.storage if config.sources.get(f"storage.{name}") in names}
        return cls(
            {name: value for name, value in config.storage.items() if name in by_variable},
            {name: value for name, value in config.storage.items() if name not in by_variable},
        )

    def for_version(self, version: Version) -> LucidSettings:
        """ZeroClaw <= 0.7.5 reads the variables, 0.8.0 to 0.8.3 neither, >= 0.8.4 the table.

        A timeout of 0 in the table means the default; an empty path stays empty, and nothing can be run.
        """
        if version < (0, 8, 0):
            return replace(LucidSettings(), **self.variables)
        if version < (0, 8, 4):
            return LucidSettings()
        names = ("binary_path", "recall_timeout_ms", "store_timeout_ms")
        given = {name: self.table[name] for name in names if self.table.get(name) not in (None, 0)}
        return replace(LucidSettings(recall_timeout_ms=3000, store_timeout_ms=3000), **given)


def category_of(label: str) -> str:
    """The category of a memory with this label of lucid; an unknown label is used as the category."""
    lowered = label.lower()
    return "visual" if "visual" in lowered else _CATEGORIES.get(lowered, lowered)


def items_in(text: str) -> list[tuple[str, str]]:
    """Parse label and content of each item between the two tags; all other lines are ignored.

    Only a line feed ends a line. An item is one line: lucid does not escape line feeds, so content after the first
    line is lost, in ZeroClaw too.
    """
    items: list[tuple[str, str]] = []
    is_open = False
    for line in (line.strip(WHITE_SPACE) for line in text.split("\n")):
        if line == CLOSING:
            break
        if line == OPENING:
            is_open = True
        elif is_open and line.startswith("- ["):
            label, bracket, content = line.removeprefix("- [").partition("]")
            content = content.strip(WHITE_SPACE)
            if bracket and content:
                items.append((label.strip(WHITE_SPACE), content))
    return items


def scored(items: Iterable[tuple[str, str]], now: str, namespace: str | None, number: int) -> list[ScoredEntry]:
    """Convert items to memories dated `now`, scored by their position.

    Ids and keys are generated as in ZeroClaw, the same for each query; `number` makes the handles unique.
    """
    return [
        ScoredEntry(
            MemoryEntry(
                id=f"lucid:{position}",
                key=f"lucid_{position}",
                content=content,
                category=category_of(label),
                timestamp=now,
                namespace=namespace,
                handle=f"lucid:{number}:{position}",
            ),
            position + 1,
            max(0.1, 1.0 - position * 0.05),
            stage=STAGE,
        )
        for position, (label, content) in enumerate(items)
    ]


def merged(local: Iterable[ScoredEntry], lucid: Iterable[ScoredEntry], limit: int) -> list[ScoredEntry]:
    """Join local results and lucid's, at most `limit`, without duplicates by key and content, ignoring case."""
    first: dict[str, ScoredEntry] = {}
    for result in (*local, *lucid):
        first.setdefault(f"{result.entry.key.lower()}\0{result.entry.content.lower()}", result)
    return list(islice(first.values(), max(limit, 0)))


class LucidMemory(SqliteMemory):
    """A brain.db whose recall also asks the lucid program, and that passes each new memory to it.

    Lucid's results are not rows of the database: their handles are strings, they can be read until the next answer of
    lucid, and they cannot be changed. A batch is stored in the database alone: lucid would run once per memory.
    """

    name = "lucid"
    about = About(
        identity=SqliteMemory.name,
        rule=None,
        keeps_deleted="ZeroClaw also stored these memories in lucid, which has no delete command. Lucid keeps them in "
        "~/.lucid/memory.db; other places of lucid are not searched.",
    )

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        project: Path | None = None,
        config: LucidConfig | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`project` is ZeroClaw's workspace or data folder; `clock` returns monotonic seconds."""
        super().__init__(path, read_only=read_only)
        folder = project or (path.parent.parent if path.parent.name == "memory" else path.parent)
        # ZeroClaw prints bytes that are not UTF-8 as U+FFFD.
        self._project = f"--project={os.fsencode(folder).decode('utf-8', 'replace')}"
        self._config = config or LucidConfig({}, {})
        self._clock = clock
        self._failed_at: float | None = None
        self._answers = 0
        self._last_answer: Sequence[MemoryEntry] = ()
        self._version: str | None = None

    @classmethod
    def from_config(cls, config: MemoryConfig) -> LucidMemory:
        local = SqliteMemory.from_config(config)
        project = None if config.location else config.install.root
        return cls(local.path, read_only=config.read_only, project=project, config=LucidConfig.of(config))

    async def open(self) -> None:
        await super().open()
        sentence = f"{_RUNS} {_STORES}" if "write" not in self.why_not else _RUNS
        self.about = self.about._replace(notices=(*self.about.notices, Notice(sentence, is_minor=True)))
        self.why_not = {**self.why_not, "zeroclaw_forget": NO_DELETE}

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> Evidence:
        """Recall from the database, and from lucid if there are too few hits, decided for this limit.

        With `deep` and no results of lucid, returns the evidence of the database.
        """
        request, profile = trial.request, trial.profile
        self._version = profile.version
        # ZeroClaw reads twice the limit and then filters by namespace, lucid's results included.
        wanted = replace(request, namespace=None, limit=request.limit * 2) if request.namespace is not None else request
        doubled = trial._replace(request=wanted)
        local = store_recall(await super().search(doubled, vector), doubled)
        results: Sequence[ScoredEntry] = local.entries
        lucid, notes = await self._ask(request, wanted.limit, len(results), profile)
        if lucid:
            results = merged(results, lucid, wanted.limit)
            if profile.has_time_bounds:
                results = [result for result in results if is_within_bounds(result.entry, request)]
        if request.namespace is not None:
            results = [one for one in results if (one.entry.namespace or DEFAULT_NAMESPACE) == request.namespace]
            results = results[: max(request.limit, 0)]
        stages = {result.stage for result in results}
        mode, scale = local.mode, local.scale
        if STAGE in stages:
            if profile.agent_scope != "none":
                notes.append(NOT_FOR_AGENTS)
            mode, scale = (STAGE, SCALE) if stages == {STAGE} else (mode, f"{scale}; {SCALE}")
        elif deep:
            evidence = await super().search(trial, vector, deep=True)
            assert isinstance(evidence, StageEvidence)
            return replace(evidence, notes=(*evidence.notes, *notes))
        return OwnEvidence(
            trial=trial,
            entries=tuple(result._replace(rank=rank) for rank, result in enumerate(results, 1)),
            mode=mode,
            scale=scale,
            notes=(*local.notes, *notes),
            depends_on_limit=True,
        )

    async def _ask(
        self, request: RecallRequest, limit: int, hits: int, profile: ScoringProfile
    ) -> tuple[list[ScoredEntry], list[str]]:
        """Run lucid unless it is not needed; return its results, and a note on what happened."""
        settings, has_agents = self._settings, profile.agent_scope != "none"
        rest_ends = 0.0 if self._failed_at is None else self._failed_at + settings.failure_cooldown_ms / 1000
        seconds = max(0.0, rest_ends - self._clock())
        if hits >= min(limit, settings.local_hit_threshold):
            enough = "1 local hit is" if hits == 1 else f"{hits} local hits are"
            return [], [f"Lucid was not run: {enough} enough."]
        if request.agents and has_agents:
            return [], [NOT_FOR_AGENTS]
        if seconds:
            return [], [f"Lucid was not run: it is paused for {math.ceil(seconds)} s after a failure."]
        # ZeroClaw >= 0.7.5 requests the newest memories, "*", with an empty text.
        is_star = profile.star_lists_recent and lists_recent(request.query, profile)
        arguments = ["context", "" if is_star else request.query, f"--budget={settings.budget}", self._project]
        try:
            output = await run_program(settings.binary_path, arguments, settings.recall_timeout_ms)
        except NotReachable as failure:
            self._failed_at = self._clock()
            return [], [f"Local memories only: {failure.message}"]
        self._failed_at = None
        self._answers += 1
        # More than these cannot be among the results.
        items = items_in(output)[: limit + hits]
        namespace = DEFAULT_NAMESPACE if "namespaces" not in self.why_not else None
        found = scored(items, local_now(), namespace, self._answers)
        if found:
            self._last_answer = [result.entry for result in found]
        if request.layer == "agent" and has_agents:
            found = [result._replace(withheld="lucid's own") for result in found]
        return found, [f"Lucid was run and returned {counted(len(found))}."]

    @property
    def _settings(self) -> LucidSettings:
        """The settings for the version of the last search, or for the newest version that has this schema."""
        return self._config.for_version(parse_version(self._version or self.about.newest_version or NEWEST))

    async def rows(self, query: Query[T]) -> Sequence[T]:
        """Read rows of the database, and of lucid's last answer if the query names them.

        Raises Refused if rows or versions of lucid's answer alone are requested: they cannot be changed.
        """
        found: Sequence[Any] = await super().rows(query)
        named, is_to_change = query.handles or query.ids or (), query.read.name in ("row", "version")
        answered = [entry for entry in self._last_answer if entry.handle in named or entry.id in named]
        if answered and is_to_change and not found:
            raise Refused(NOT_CHANGEABLE, hint="Its program has no command for that.")
        if answered and query.handles is not None and not is_to_change:
            is_whole = query.read.name == "entry"
            by_handle = {entry.handle: entry if is_whole else entry.excerpt() for entry in answered}
            by_handle |= {entry.handle: entry for entry in found}
            found = [by_handle[handle] for handle in query.handles if handle in by_handle]
        read: Sequence[T] = found
        return read

    async def apply(self, changes: Iterable[Change], journal: Journal | None, **options: Any) -> ApplyResult:
        """Write to the database; also store a single new memory in lucid. A note says what lucid cannot do."""
        drafts: list[Draft] = []
        has_lucid_copy = False

        def seen() -> Iterator[Change]:
            nonlocal has_lucid_copy
            for change in changes:
                drafts.extend([change.after.checked()] if isinstance(change.after, Draft) else [])
                has_lucid_copy |= isinstance(change.after, Edit | None) and change.reverses is None
                yield change

        result = await super().apply(seen(), journal, **options)
        notes = [NO_DELETE] if has_lucid_copy and result.written else []
        if len(drafts) == 1 and result.written and not options.get("dry_run"):
            draft, settings = drafts[0], self._settings
            kind = f"--type={_TYPES.get(draft.category, 'learning')}"
            arguments = ["store", f"{draft.key}: {draft.content}", kind, self._project]
            try:
                await run_program(settings.binary_path, arguments, settings.store_timeout_ms)
            except NotReachable as failure:
                notes.append(f"Stored here, but not in lucid: {failure.message}")
        result.note(*notes)
        return result
