"""Clean-up: find duplicates, junk, secrets and hidden text among the memories, and merge duplicates."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal, get_args

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import versions_at
from zeroclaw_tui.curation.changes import Outcome, PurgePlan, plan_of, refuse_read_only, remove_memories
from zeroclaw_tui.curation.duplicates import DuplicateFinder, Duplicates
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import ProgressCallback, Row, RowVersion
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import Handle, column_text
from zeroclaw_tui.memory.errors import Refused, SearchInterrupted
from zeroclaw_tui.memory.hidden_text import suspicious_runs
from zeroclaw_tui.memory.query import EXCERPTS, MemoryFilter, Query, Superseded
from zeroclaw_tui.memory.secret_text import look_alike_secrets, masked, secrets_remark
from zeroclaw_tui.memory.text import WHITE_SPACE, counted, cut, one_line

FindingKind = Literal[
    "assistant replies", "recall blobs", "tool results", "heartbeat and cron", "too short", "too long", "empty keys",
    "exact duplicates", "near duplicates", "stale vectors", "secrets", "hidden text",
]  # fmt: skip

KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
DUPLICATES: tuple[FindingKind, ...] = ("exact duplicates", "near duplicates")

SAFE_TO_REMOVE: frozenset[FindingKind] = frozenset(
    {"assistant replies", "recall blobs", "tool results", "heartbeat and cron"}
)
"""Texts that programs saved by themselves: no user asked to remember them."""

TOO_SHORT = 20
"""Characters: ZeroClaw saves no shorter user message."""
TOO_LONG = 4000
"""Characters: ZeroClaw's channels never put longer memories into the prompt (<= 0.8.2)."""

REMARKS: Mapping[FindingKind, str] = {
    "assistant replies": (
        "Replies of the agent, saved by early versions. ZeroClaw never injects them, but each takes a place in a "
        "recall."
    ),
    "recall blobs": (
        "Recalled memories that were saved again with the message after them. They are copies and grow with every turn."
    ),
    "tool results": "Output of tools, saved as a memory. It crowds out other memories in a recall.",
    "heartbeat and cron": (
        "Texts of the agent's own timers, which ZeroClaw >= 0.4.3 no longer saves. They match many messages."
    ),
    "too short": (
        "Under 20 characters, too short for ZeroClaw to save automatically. Check them: a short fact is a fact too."
    ),
    "too long": (
        "Over 4,000 characters. The channels of ZeroClaw <= 0.8.2 never inject them, and one embedding cannot "
        "represent so much text."
    ),
    "empty keys": "No command can name them, and the next memory stored without a key replaces them.",
    "exact duplicates": "The same text more than once. In a recall, each copy takes the place of another memory.",
    "near duplicates": (
        "Nearly the same text (cosine of 0.95 or more, or 80 % of the word pairs in common). In a recall, each copy "
        "takes the place of another memory, and the older one may be out of date."
    ),
    "stale vectors": (
        "Embeddings that match no message, because they are empty, damaged or of another length. ZeroClaw's own "
        "reindex creates only missing ones. Run `zeroclaw memory reindex` of this program."
    ),
    "secrets": (
        "They look like secrets. They are plain text in the database and are sent to the model when they are recalled."
    ),
    "hidden text": (
        "Characters that no screen shows but the agent reads, a way to poison memory. Others split a word so that no "
        "search finds it. Check what they say, then edit or delete the memory."
    ),
}

Which = tuple[str, Handle]
"""Names a memory: id and handle, because several files of one store may contain the same id."""


def which(version: RowVersion) -> Which:
    """Name the memory of a version."""
    return version.id, version.handle


EXCERPT_CELLS = 120
_MAX_HIDDEN_RUNS = 1000
_MAX_SPELLED = 2000
_BEFORE_HIDDEN = 24
_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
_MASKED_CHARACTERS = 4000
"""Excerpts are cut from so much of a content, after its secrets are masked."""
_LAST_TOKEN = re.compile(r"[A-Za-z0-9_\-./+=:@%~]+\Z")
_LAST_TOKEN_CHARACTERS = 12
_HEAD = 64
_ASSISTANT = "assistant_resp"
_MARKS: Mapping[FindingKind, tuple[str, str]] = {
    "recall blobs": ("[Memory context]", "recalled block"),
    "tool results": ("<tool_result", "tool result"),
}
_RUNTIME_STARTS = {"[cron:": "cron", "[heartbeat task": "heartbeat", "[distilled_": "distilled"}
_RUNTIME_MARK = re.compile("distilled_index_sig:", re.IGNORECASE)
_BATCH_SIZE = 500
_PROGRESS_ROWS, _PROGRESS_BYTES = 200, 2_000_000
_CATEGORY_RANKS = {"core": 3, "daily": 1, "conversation": 0}
"""Every other category is between core and daily."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A memory of a finding. `excerpt` is one line of its content, secrets masked, not cleaned for a screen."""

    stamp: RowVersion
    excerpt: str
    remark: str = ""
    """The exact problem, such as "96 % alike" or "an API key"."""
    pinned: bool = False
    """Pinned memories are never merged away."""
    spelled: str = ""
    """What its hidden characters spell, secrets masked, not cleaned for a screen; "" if they spell nothing."""
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One kind of problem: all its memories in the order of storing, and the bytes of their contents.

    `groups` of duplicates are tuples of two or more indexes into `samples`. `remark` says what the problem is and why
    it hurts. `is_whole` is False if not all memories were compared; then the remark says so.
    """

    kind: FindingKind
    samples: tuple[Sample, ...]
    size: int
    remark: str
    groups: tuple[tuple[int, ...], ...] = ()
    is_whole: bool = True

    @property
    def count(self) -> int:
        """The number of memories."""
        return len(self.samples)

    @property
    def stamps(self) -> tuple[RowVersion, ...]:
        """The versions of the memories that were checked."""
        return tuple(sample.stamp for sample in self.samples)

    @property
    def freed(self) -> int:
        """Bytes of content that a merge of duplicates, or else a purge, would free."""
        if self.kind in DUPLICATES:
            return plan_merge([self]).to_delete.size
        return 0 if self.kind == "stale vectors" else self.size


@dataclass(frozen=True, slots=True)
class CleanUpReport:
    """The kinds that were found, the most bytes first. `rows` and `size` count all memories that were checked."""

    findings: tuple[Finding, ...]
    rows: int
    size: int
    notes: tuple[str, ...] = ()
    superseded: frozenset[Handle] = frozenset()
    """The rows that a newer memory replaced: the list of memories hides them."""

    def finding(self, kind: FindingKind) -> Finding | None:
        """The finding of one kind, if there is one."""
        return next((finding for finding in self.findings if finding.kind == kind), None)


def own_findings(key: str, content: str) -> dict[FindingKind, str]:
    """The kinds of findings that one memory shows without any other, with a remark each."""
    found: dict[FindingKind, str] = {}
    text, lower_key = content.strip(WHITE_SPACE), key[:_HEAD].strip(WHITE_SPACE).lower()
    if lower_key == _ASSISTANT or lower_key.startswith(f"{_ASSISTANT}_"):
        found["assistant replies"] = ""
    if not key.strip(WHITE_SPACE):
        found["empty keys"] = "no key" if not key else "key of blanks only"
    if len(text) < TOO_SHORT:
        found["too short"] = counted(len(text), "character")
    if len(content) > TOO_LONG:
        found["too long"] = counted(len(content), "character")
    for kind, (mark, name) in _MARKS.items():
        if count := content.count(mark):
            found[kind] = f"one {name}" if count == 1 else counted(count, name)
    head = text[:_HEAD].lower()
    runtime = next((name for start, name in _RUNTIME_STARTS.items() if head.startswith(start)), None)
    if runtime is not None or _RUNTIME_MARK.search(content):
        found["heartbeat and cron"] = runtime or "distilled"
    if names := look_alike_secrets(content):
        found["secrets"] = secrets_remark(names)
    return found


@dataclass(frozen=True, slots=True)
class HiddenText:
    """Characters of a memory that no screen shows: their kinds, what they spell, and an excerpt around the first."""

    remark: str
    spelled: str
    excerpt: str


def hidden_text_in(key: str, content: str) -> HiddenText | None:
    """Look for hidden characters in the content, then in the key; None if there are none."""
    for text, where in ((content, ""), (key, "in the key: ")):
        if text.isascii():
            continue
        runs = list(islice(suspicious_runs(text), _MAX_HIDDEN_RUNS))
        if not runs:
            continue
        count = sum(run.end - run.start for run in runs)
        kinds = tuple(dict.fromkeys(kind for run in runs for kind in run.kinds))
        if len(kinds) > 1:
            remark = f"{count:,} hidden characters: {', '.join(kinds)}"
        elif kinds[0].startswith("U+"):
            remark = kinds[0] if count == 1 else f"{count:,} × {kinds[0]}"
        else:
            remark = kinds[0].removesuffix("s") if count == 1 else f"{count:,} {kinds[0]}"
        spelled = " ".join(run.spelled for run in runs if run.spelled)
        spelled = masked(spelled if len(spelled) <= _MAX_SPELLED else spelled[:_MAX_SPELLED] + "…")
        start = max(0, runs[0].start - _BEFORE_HIDDEN) if text is content else 0
        return HiddenText(where + remark, spelled, ("…" if start else "") + beginning_of(content[start:]))
    return None


def excerpt_of(content: str) -> str:
    """The beginning of a content on one line, clean for any screen, secrets masked."""
    return cut(one_line(_beginning(content, is_cut=False)), EXCERPT_CELLS)


def beginning_of(content: str, *, is_cut: bool = False) -> str:
    """The beginning of a content, secrets masked, not cleaned for a screen. `is_cut`: the content is cut already."""
    line = _BLANKS.sub(" ", _beginning(content, is_cut=is_cut)).strip(" ")
    return line if len(line) <= EXCERPT_CELLS else line[: EXCERPT_CELLS - 1] + "…"


def _beginning(content: str, *, is_cut: bool) -> str:
    head = masked(content[:_MASKED_CHARACTERS])
    if is_cut or len(content) > _MASKED_CHARACTERS:
        # The last word may be the beginning of a secret.
        head = _LAST_TOKEN.sub(lambda last: last[0][:_LAST_TOKEN_CHARACTERS], head) + "…"
    return head


@dataclass(slots=True)
class _Pass:
    """What one pass over the rows gathers: their own findings, and hashes to find duplicates by."""

    version_of: Callable[[Row], RowVersion]
    check_cancelled: Callable[[int], None]
    rows: int = 0
    size: int = 0
    duplicates: DuplicateFinder = field(default_factory=DuplicateFinder)
    found: dict[FindingKind, list[tuple[int, Sample]]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    superseded: set[Handle] = field(default_factory=set)
    seen: list[tuple[Handle, int]] = field(default_factory=list)
    """The handle of each row and the hash of its state, to notice changes during the check."""
    next_progress: tuple[int, int] = (1, 1)

    def visit(self, row: Row) -> None:
        """Check one row."""
        version, value = self.version_of(row), row.values.get
        content, dimensions = column_text(value("content")), value("embedding_dimensions")
        is_superseded = value("superseded_by") is not None
        session = None if value("session_id") is None else column_text(value("session_id"))
        sample = Sample(version, "", pinned=bool(value("pinned")), session=session)
        self.duplicates.add(
            f"{version.agent or ''}\0{column_text(value('namespace') or 'default')}",
            content,
            vector=value("embedding"),
            dimensions=dimensions if isinstance(dimensions, int) else None,
            rank=_rank(sample),
            is_compared=not is_superseded,
        )
        self.seen.append((version.handle, hash(version.state)))
        if is_superseded:
            self.superseded.add(version.handle)
        if remarks := own_findings(version.key, content):
            excerpt = beginning_of(content)
            for kind, remark in remarks.items():
                self.found[kind].append((self.rows, replace(sample, excerpt=excerpt, remark=remark)))
        if hidden := hidden_text_in(version.key, content):
            sample = replace(sample, excerpt=hidden.excerpt, remark=hidden.remark, spelled=hidden.spelled)
            self.found["hidden text"].append((self.rows, sample))
        self.rows += 1
        self.size += version.size
        if self.rows >= self.next_progress[0] or self.size >= self.next_progress[1]:
            self.next_progress = self.rows + _PROGRESS_ROWS, self.size + _PROGRESS_BYTES
            self.check_cancelled(self.rows)


async def check_memories(
    library: Library, on_progress: ProgressCallback | None = None, agents: Sequence[str] = ()
) -> CleanUpReport:
    """Find every problem among the memories of these agents, by default of all.

    `on_progress` gets the number of rows checked; if it returns False, the check raises SearchInterrupted. Contents
    are read one at a time in a thread. Near duplicates are those of a high cosine where both have vectors of one
    length, else of many common word pairs.
    """
    about = library.memory.about
    if about.not_read_because is not None and about.program is None:
        raise Refused(about.not_read_because, hint="Clean-up checks the memories of an agent.")
    wanted = MemoryFilter(agent=tuple(agents), superseded=Superseded.SHOW) if agents else None
    stop = threading.Event()

    def check_cancelled(done: int) -> None:
        if stop.is_set() or (on_progress is not None and not on_progress(done)):
            raise SearchInterrupted

    checked = _Pass(library.memory.stamp_of, check_cancelled)
    try:
        await library.memory.scan(checked.visit, wanted)
        check_cancelled(checked.rows)
        duplicates = await asyncio.to_thread(checked.duplicates.find, lambda: check_cancelled(checked.rows))
        return await _report(library, checked, duplicates)
    finally:
        stop.set()


async def _report(library: Library, checked: _Pass, duplicates: Duplicates) -> CleanUpReport:
    finder, found = checked.duplicates, checked.found
    expected = library.config.embedding.dimensions if library.embedder is not None else finder.most_common_length
    invalid = finder.invalid_vectors(expected)
    numbers = {*invalid, *(number for group in (*duplicates.exact, *duplicates.near) for number in group)}
    samples = await _load_samples(library.memory, checked, sorted(numbers))
    found["stale vectors"] = [
        (number, replace(samples[number], remark=remark)) for number, remark in invalid.items() if number in samples
    ]
    groups: dict[FindingKind, Sequence[Sequence[int]]] = {
        "exact duplicates": _existing_groups(duplicates.exact, samples),
        "near duplicates": _existing_groups(duplicates.near, samples),
    }
    for number in sorted(number for group in groups["exact duplicates"] for number in group):
        found["exact duplicates"].append((number, samples[number]))
    for number in sorted(number for group in groups["near duplicates"] for number in group):
        remark = f"{int(duplicates.likeness[number] * 100 + 1e-6)} % alike"
        found["near duplicates"].append((number, replace(samples[number], remark=remark)))
    findings = [_finding(kind, each, groups.get(kind, ())) for kind, each in found.items() if each]
    notes: list[str] = []
    if duplicates.left_out and found["near duplicates"]:
        findings = [
            replace(finding, remark=f"{finding.remark} {duplicates.left_out}", is_whole=False)
            if finding.kind == "near duplicates"
            else finding
            for finding in findings
        ]
    elif duplicates.left_out:
        notes.append(duplicates.left_out)
    if changed := len(numbers) - len(samples):
        notes.append(f"{counted(changed)} changed during the check and may be missing here. Check again to see all.")
    findings.sort(key=lambda finding: (-finding.size, KINDS.index(finding.kind)))
    return CleanUpReport(tuple(findings), checked.rows, checked.size, tuple(notes), frozenset(checked.superseded))


def _finding(kind: FindingKind, found: Sequence[tuple[int, Sample]], groups: Sequence[Sequence[int]]) -> Finding:
    samples = tuple(sample for _, sample in found)
    places = {number: place for place, (number, _) in enumerate(found)}
    size = sum(sample.stamp.size for sample in samples)
    return Finding(kind, samples, size, REMARKS[kind], tuple(tuple(map(places.__getitem__, each)) for each in groups))


def _existing_groups(groups: Sequence[Sequence[int]], samples: Collection[int]) -> list[list[int]]:
    """The groups without memories that changed during the check; groups of one are left out."""
    existing = [[number for number in group if number in samples] for group in groups]
    return [group for group in existing if len(group) > 1]


async def _load_samples(memory: Memory, checked: _Pass, numbers: Sequence[int]) -> dict[int, Sample]:
    """Load these memories by number, without those that changed during the check."""
    samples: dict[int, Sample] = {}
    for start in range(0, len(numbers), _BATCH_SIZE):
        checked.check_cancelled(checked.rows)
        by_handle = {checked.seen[number][0]: number for number in numbers[start : start + _BATCH_SIZE]}
        handles = list(by_handle)
        versions = {version.handle: version for version in await versions_at(memory, handles)}
        for entry in await memory.rows(Query(EXCERPTS, handles=handles)):
            version = versions.get(entry.handle)
            if version is None or hash(version.state) != checked.seen[by_handle[entry.handle]][1]:
                continue
            excerpt = beginning_of(entry.content, is_cut=entry.is_excerpt)
            sample = Sample(version, excerpt, pinned=bool(entry.pinned), session=entry.session_id)
            samples[by_handle[entry.handle]] = sample
    return samples


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The memories that stay, each with the copies that move to the trash; `to_delete` are all of these copies."""

    groups: tuple[tuple[Sample, tuple[Sample, ...]], ...]
    to_delete: PurgePlan


def plan_merge(findings: Iterable[Finding], *, only: Sequence[int] | None = None) -> MergePlan:
    """Plan to keep the most durable copy of each group: pinned, then core, other categories, daily, conversation.

    Within a category the copy without a session stays, then the newest. Pinned memories always stay. A conversation
    memory is deleted only if a copy of the same session or without a session stays. `only` are indexes into the groups
    of every finding. Groups of several findings that share a memory are planned as one.
    """
    groups: list[dict[Which, Sample]] = []
    for finding in findings:
        for number in range(len(finding.groups)) if only is None else only:
            group = {which(sample.stamp): sample for sample in map(finding.samples.__getitem__, finding.groups[number])}
            for other in [other for other in groups if not group.keys().isdisjoint(other)]:
                groups.remove(other)
                group = other | group
            groups.append(group)
    merged = tuple(pair for group in groups for pair in _merge_group(group.values()))
    return MergePlan(merged, plan_of(copy.stamp for _, copies in merged for copy in copies))


def _rank(sample: Sample) -> tuple[bool, int, bool, float]:
    """How long ZeroClaw remembers a memory and in how many conversations, then how new it is; the highest stays."""
    written = moment(sample.stamp.updated_at or sample.stamp.when)
    category = _CATEGORY_RANKS.get(sample.stamp.category, 2)
    return sample.pinned, category, sample.session is None, written.timestamp() if written else 0.0


async def merge(library: Library, plan: MergePlan, on_progress: ProgressCallback | None = None) -> Outcome:
    """Move the copies of each group to the trash, as one change set.

    A group whose remaining memory changed or was deleted meanwhile is skipped and reported: its text may differ now.
    """
    refuse_read_only(library)
    states = {stays.stamp.handle: stays.stamp.state for stays, _ in plan.groups}
    found = await versions_at(library.memory, list(states))
    unchanged = {version.handle for version in found if version.state == states[version.handle]}
    skipped = {
        copy.stamp.handle: copy.stamp.id
        for stays, copies in plan.groups
        if stays.stamp.handle not in unchanged
        for copy in copies
    }
    to_delete = plan.to_delete
    if skipped:
        to_delete = plan_of(version for version in to_delete.stamps if version.handle not in skipped)
    outcome = await remove_memories(library, to_delete, "merge", on_progress=on_progress)
    return replace(outcome, changed=(*outcome.changed, *skipped.values()))


def _merge_group(group: Iterable[Sample]) -> Iterator[tuple[Sample, tuple[Sample, ...]]]:
    """Yield each copy that stays with those that it replaces; copies that replace none are left out."""
    ranked = sorted(enumerate(group), key=lambda numbered: (_rank(numbered[1]), numbered[0]), reverse=True)
    stays: list[tuple[Sample, list[Sample]]] = []
    first_of_session: dict[str | None, int] = {}
    for _, sample in ranked:
        if sample.stamp.category == "conversation":
            # A conversation memory is replaced only by one that is recalled in the same session.
            better = [first_of_session[each] for each in (None, sample.session) if each in first_of_session]
        else:
            better = [0] if stays else []
        if better and not sample.pinned:
            stays[min(better)][1].append(sample)
        else:
            first_of_session.setdefault(sample.session, len(stays))
            stays.append((sample, []))
    for sample, replaced in stays:
        if replaced:
            yield sample, tuple(replaced)
