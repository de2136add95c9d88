"""Clean-up: find duplicates, junk, secrets and hidden text among the memories, and merge duplicates."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, NamedTuple

from zeroclaw_tui.backends.base import check_writable
from zeroclaw_tui.backends.lookup import versions_at
from zeroclaw_tui.curation.changes import remove_memories
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome, PurgePlan, excerpt_of
from zeroclaw_tui.memory.change import ProgressCallback, Row, RowVersion
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import Handle, as_text
from zeroclaw_tui.memory.errors import Refused, SearchInterrupted
from zeroclaw_tui.memory.hidden_text import suspicious_runs
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.secret_text import find_secret_kinds
from zeroclaw_tui.memory.text import WHITE_SPACE, counted, first_names, size_shown

FindingKind = str
"""One of KINDS."""

SAFE_TO_REMOVE = frozenset({"assistant replies", "recall blobs", "tool results", "heartbeat and cron"})
"""Kinds of texts that programs saved without a request by a user."""

TOO_SHORT = 20
"""In characters: ZeroClaw does not save shorter user messages."""
TOO_LONG = 4000
"""In characters: the channels of ZeroClaw <= 0.8.2 never inject longer memories."""

REMARKS: Mapping[FindingKind, str] = {
    "assistant replies": "Replies of the agent, saved by early versions. ZeroClaw never injects them.",
    "recall blobs": "Recalled memories that were saved again with the message after them. They grow with every turn.",
    "tool results": "Output of tools, saved as a memory. It crowds out other memories in a recall.",
    "heartbeat and cron": "Texts of the agent's own timers, which ZeroClaw >= 0.4.3 no longer saves.",
    "too short": "Under 20 characters. Check them: a short fact is a fact too.",
    "too long": "Over 4,000 characters. The channels of ZeroClaw <= 0.8.2 never inject them.",
    "empty keys": "No command can name them, and the next memory stored without a key replaces them.",
    "exact duplicates": "The same text more than once. In a recall, each copy takes the place of another memory.",
    "near duplicates": "Nearly the same text (cosine of 0.95 or more, or 80 % of the word pairs in common).",
    "secrets": "They look like secrets, and are sent to the model when they are recalled.",
    "hidden text": "Characters that no screen shows but the agent reads, a way to poison memory.",
}
KINDS = tuple(REMARKS)

_MAX_HIDDEN_RUNS = 1000
_BEFORE_HIDDEN = 24
_START_LENGTH = 64
_MAX_HEAD = 1000
"""In characters of a content: longer than an excerpt, with room for a secret at its end."""
_ASSISTANT = re.compile(r"\s*assistant_resp(_|\s*\Z)", re.IGNORECASE)
_TIMER_STARTS = ("[cron:", "[heartbeat task", "[distilled_")
_DISTILLED = re.compile("distilled_index_sig:", re.IGNORECASE)
_CATEGORY_RANKS = {"core": 3, "daily": 1, "conversation": 0}
"""Every other category ranks between core and daily."""


class Sample(NamedTuple):
    """A memory that was checked."""

    version: RowVersion
    head: str
    """The part of its content that is shown; secrets are not masked."""
    remark: str = ""
    """The exact problem, such as "96 % alike" or "an API key"."""

    @property
    def excerpt(self) -> str:
        """One line of its content, secrets masked, control characters included."""
        return excerpt_of(self.head, is_cut=len(self.head) >= _MAX_HEAD)

    def as_json(self) -> dict[str, Any]:
        names = ("id", "key", "category", "agent", "timestamp", "updated_at", "size")
        of_version = {name: getattr(self.version, name) for name in names}
        return {**of_version, "excerpt": self.excerpt, "remark": self.remark}


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of problem and its memories in storage order; `groups` of duplicates are indexes into these."""

    kind: FindingKind
    samples: tuple[Sample, ...]
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def size(self) -> int:
        """The bytes of their contents."""
        return sum(sample.version.size for sample in self.samples)

    @property
    def remark(self) -> str:
        return REMARKS[self.kind]

    @property
    def count(self) -> int:
        return len(self.samples)

    @property
    def versions(self) -> tuple[RowVersion, ...]:
        return tuple(sample.version for sample in self.samples)

    def as_json(self, limit: int) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in ("kind", "count", "size", "remark")}
        groups = [[self.samples[index].version.id for index in group] for group in self.groups]
        return {**facts, "groups": groups, "samples": [sample.as_json() for sample in self.samples[:limit]]}


class CleanUpReport(NamedTuple):
    """The findings, the largest in bytes first. `rows` and `size` count all checked memories."""

    findings: tuple[Finding, ...]
    rows: int
    size: int

    def headline(self) -> str:
        return f"{counted(self.rows)}, {size_shown(self.size)}"

    def as_json(self, kinds: Collection[FindingKind], limit: int) -> dict[str, Any]:
        findings = [finding.as_json(limit) for finding in self.findings if finding.kind in kinds]
        return {"rows": self.rows, "size": self.size, "findings": findings}


def own_findings(key: str, content: str) -> dict[FindingKind, str]:
    """Find the problems of a single memory: their kinds, each with a remark."""
    found: dict[FindingKind, str] = {}
    text = content.strip(WHITE_SPACE)
    if _ASSISTANT.match(key):
        found["assistant replies"] = ""
    if not key.strip(WHITE_SPACE):
        found["empty keys"] = ""
    if len(text) < TOO_SHORT:
        found["too short"] = counted(len(text), "character")
    if len(content) > TOO_LONG:
        found["too long"] = counted(len(content), "character")
    if blocks := content.count("[Memory context]"):
        found["recall blobs"] = counted(blocks, "recalled block")
    if results := content.count("<tool_result"):
        found["tool results"] = counted(results, "tool result")
    if text[:_START_LENGTH].lower().startswith(_TIMER_STARTS) or _DISTILLED.search(content):
        found["heartbeat and cron"] = ""
    if names := find_secret_kinds(content):
        found["secrets"] = first_names(names, most=3)
    return found


def _with_hidden_text(sample: Sample, content: str) -> Sample | None:
    """Describe the hidden characters of a sample's content, or else of its key; None if there are none."""
    for text, where in ((content, ""), (sample.version.key, "in the key: ")):
        runs = [] if text.isascii() else list(islice(suspicious_runs(text), _MAX_HIDDEN_RUNS))
        if not runs:
            continue
        count = sum(run.end - run.start for run in runs)
        kinds = tuple(dict.fromkeys(kind for run in runs for kind in run.kinds))
        remark = ", ".join(kinds) + (f" ({count:,})" if count > 1 else "")
        start = max(0, runs[0].start - _BEFORE_HIDDEN) if text is content else 0
        head = ("…" if start else "") + content[start : start + _MAX_HEAD]
        return sample._replace(remark=where + remark, head=head)
    return None


async def check_memories(
    library: Library, on_progress: ProgressCallback | None = None, agents: Sequence[str] = ()
) -> CleanUpReport:
    """Find every problem among the memories of these agents, by default of all.

    `on_progress` gets the number of rows checked; if it returns False, this raises SearchInterrupted. Near duplicates
    have a high cosine if both have vectors of the same length, else many common word pairs.
    """
    about = library.memory.about
    if about.not_read_because is not None and about.program is None:
        raise Refused(about.not_read_because, hint="Clean-up checks the memories of an agent.")
    wanted = MemoryFilter(agent=tuple(agents), superseded=Superseded.SHOW) if agents else None
    stop = threading.Event()

    def check_cancelled(done: int) -> None:
        if stop.is_set() or (on_progress is not None and not on_progress(done)):
            raise SearchInterrupted

    check = _Check(library, check_cancelled)
    try:
        await library.memory.scan(check.visit, wanted)
        check_cancelled(len(check.samples))
        return await asyncio.to_thread(check.report)
    finally:
        stop.set()


class _Check:
    """One pass over all rows, which collects their findings and the input of the duplicate search."""

    def __init__(self, library: Library, check_cancelled: Callable[[int], None]) -> None:
        # Deferred: numpy is slow to import.
        from zeroclaw_tui.curation.duplicates import DuplicateFinder

        self.samples: list[Sample] = []
        self._library = library
        self._check_cancelled = check_cancelled
        self._duplicates = DuplicateFinder()
        self._found: dict[FindingKind, list[Sample]] = {kind: [] for kind in KINDS}

    def visit(self, row: Row) -> None:
        version, value = self._library.memory.version_of(row), row.values.get
        content = as_text(value("content"))
        sample = Sample(version, content[:_MAX_HEAD])
        # Recall hides superseded memories, whose newer copy is often the memory that replaced them.
        if version.superseded_by is None:
            owner = f"{version.agent or ''}\0{version.namespace or 'default'}"
            self._duplicates.add(len(self.samples), owner, content, value("embedding"))
        for kind, remark in own_findings(version.key, content).items():
            self._found[kind].append(sample._replace(remark=remark))
        if hidden := _with_hidden_text(sample, content):
            self._found["hidden text"].append(hidden)
        self.samples.append(sample)
        self._check_cancelled(len(self.samples))

    def report(self) -> CleanUpReport:
        """Compare the memories with each other, and combine all findings. Blocks."""
        duplicates = self._duplicates.find(lambda: self._check_cancelled(len(self.samples)))
        findings = [Finding(kind, tuple(samples)) for kind, samples in self._found.items() if samples]
        findings += self._duplicate_findings("exact duplicates", duplicates.exact)
        findings += self._duplicate_findings("near duplicates", duplicates.near, duplicates.likeness)
        findings.sort(key=lambda finding: (-finding.size, KINDS.index(finding.kind)))
        size = sum(sample.version.size for sample in self.samples)
        return CleanUpReport(tuple(findings), len(self.samples), size)

    def _duplicate_findings(
        self, kind: FindingKind, groups: Sequence[Sequence[int]], likeness: Mapping[int, float] | None = None
    ) -> Iterator[Finding]:
        numbers = sorted(chain.from_iterable(groups))
        samples = [self.samples[number] for number in numbers]
        if likeness is not None:
            remarks = [f"{int(likeness[number] * 100 + 1e-6)} % alike" for number in numbers]
            samples = [sample._replace(remark=remark) for sample, remark in zip(samples, remarks, strict=True)]
        place = {number: index for index, number in enumerate(numbers)}
        if groups:
            yield Finding(kind, tuple(samples), tuple(tuple(place[number] for number in group) for group in groups))


class MergePlan(NamedTuple):
    """The memories that stay, each with its copies that move to the trash; `to_delete` has all these copies."""

    groups: tuple[tuple[Sample, tuple[Sample, ...]], ...]
    to_delete: PurgePlan


def plan_merge(findings: Iterable[Finding]) -> MergePlan:
    """Plan to keep the most durable copy of each group: pinned, then core, other categories, daily, conversation.

    Within a category the copy without a session stays, then the newest. Pinned memories always stay. A conversation
    memory is deleted only if a copy of the same session or without a session stays. Groups of several findings that
    share a memory are planned as one.
    """
    groups: list[dict[Handle, Sample]] = []
    for finding in findings:
        for places in finding.groups:
            group = {finding.samples[place].version.handle: finding.samples[place] for place in places}
            for other in [other for other in groups if not group.keys().isdisjoint(other)]:
                groups.remove(other)
                group = other | group
            groups.append(group)
    merged = tuple(pair for group in groups for pair in _merge_group(group.values()))
    return MergePlan(merged, PurgePlan(tuple(copy.version for _, copies in merged for copy in copies)))


def _rank(sample: Sample) -> tuple[bool, int, bool, float]:
    """Rank by how long and in how many sessions ZeroClaw recalls a memory, then by age; the highest stays."""
    version = sample.version
    written, category = moment(version.updated_at or version.when), _CATEGORY_RANKS.get(version.category, 2)
    return bool(version.pinned), category, version.session_id is None, written.timestamp() if written else 0.0


async def merge(library: Library, plan: MergePlan, on_progress: ProgressCallback | None = None) -> Outcome:
    """Move the copies of each group to the trash; skip groups whose remaining memory was changed or deleted."""
    check_writable(library.memory)
    states = {stays.version.handle: stays.version.state for stays, _ in plan.groups}
    found = await versions_at(library.memory, list(states))
    unchanged = {version.handle for version in found if version.state == states[version.handle]}
    skipped = {
        copy.version.handle: copy.version.id
        for stays, copies in plan.groups
        if stays.version.handle not in unchanged
        for copy in copies
    }
    to_delete = plan.to_delete
    if skipped:
        to_delete = PurgePlan(tuple(version for version in to_delete.versions if version.handle not in skipped))
    outcome = await remove_memories(library, to_delete, "merge", on_progress=on_progress)
    return replace(outcome, changed=(*outcome.changed, *skipped.values()))


def _merge_group(group: Iterable[Sample]) -> Iterator[tuple[Sample, tuple[Sample, ...]]]:
    """Yield each memory that stays with the copies that it replaces, if any."""
    ranked = sorted(enumerate(group), key=lambda numbered: (_rank(numbered[1]), numbered[0]), reverse=True)
    stays: list[tuple[Sample, list[Sample]]] = []
    first_of_session: dict[str | None, int] = {}
    for _, sample in ranked:
        if sample.version.category == "conversation":
            # A conversation memory is replaced only by one that is recalled in the same session.
            session = sample.version.session_id
            better = [first_of_session[each] for each in (None, session) if each in first_of_session]
        else:
            better = [0] if stays else []
        if better and not sample.version.pinned:
            stays[min(better)][1].append(sample)
        else:
            first_of_session.setdefault(sample.version.session_id, len(stays))
            stays.append((sample, []))
    for sample, replaced in stays:
        if replaced:
            yield sample, tuple(replaced)
