"""The audit: looking at every memory once for what pollutes a store, why it hurts, and what can be done about it."""

from __future__ import annotations

import asyncio
import hashlib
import re
import threading
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Literal, get_args

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import versions_at
from zeroclaw_tui.curation.audit.duplicates import Contents, Duplicates, Vectors
from zeroclaw_tui.curation.changes import Outcome, PurgePlan, plan_of, refuse_read_only, remove_memories
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

SAFE_TO_REMOVE: frozenset[FindingKind] = frozenset(
    {"assistant replies", "recall blobs", "tool results", "heartbeat and cron"}
)
"""What programs saved by themselves: nothing in it was said to be remembered, so that nothing is lost with it."""

TOO_SHORT = 20
"""Characters: ZeroClaw saves no user message below that."""
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
"""A memory, whichever finding it is in: several files of one store may hold the same id."""


def which(stamp: RowVersion) -> Which:
    """The memory that a stamp is of."""
    return stamp.id, stamp.handle


EXCERPT_CELLS = 120
"""Also the characters of an excerpt."""
_BEFORE_HIDDEN = 24
_MOST_RUNS = 1000
_MOST_SPELLED = 2000
_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
_MASKED_AHEAD = 4000
"""So much of a content is masked before its beginning is shown."""
_SHOWN_OF_LAST = 12
_SLICE = 1_000_000
"""Contents can be many megabytes: they are never copied whole."""
_HEAD = 64
_ASSISTANT = "assistant_resp"
_OWN_BLOCK = "[Memory context]"
_TOOL_RESULT = "<tool_result"
_RUNTIME_STARTS = {"[cron:": "cron", "[heartbeat task": "heartbeat", "[distilled_": "distilled"}
_LAST_TOKEN = re.compile(r"[A-Za-z0-9_\-./+=:@%~]+\Z")
_RUNTIME_MARK = "distilled_index_sig:"


_CATEGORY_RANKS = {"core": 3, "daily": 1, "conversation": 0}
"""Every other category is between core and daily."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A memory of a finding: `excerpt` is a piece of its content, on one line, secrets masked, not cleaned for eyes."""

    stamp: RowVersion
    excerpt: str
    remark: str = ""
    """What exactly was found, such as "96 % alike" or "an API key"."""
    pinned: bool = False
    """Pinned memories are never merged away."""
    spelled: str = ""
    """What its hidden characters spell, secrets masked, not cleaned for a screen; "" where they spell nothing."""
    session: str | None = None
    """The session that it belongs to."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`samples` are all memories of it in the order of storing; `size` the bytes of their contents.

    `groups` are of duplicates: each a tuple of indexes into `samples`, two or more that are alike; empty otherwise.
    `is_whole` is False where too many had to be looked at, then `remark` says what was left out. `remark` is one
    sentence: what it is and why it hurts.
    """

    kind: FindingKind
    samples: tuple[Sample, ...]
    size: int
    remark: str
    groups: tuple[tuple[int, ...], ...] = ()
    is_whole: bool = True

    @property
    def count(self) -> int:
        """How many memories."""
        return len(self.samples)

    @property
    def stamps(self) -> tuple[RowVersion, ...]:
        """Which memories, each in the state that was looked at."""
        return tuple(sample.stamp for sample in self.samples)

    def without(self, gone: Collection[Which]) -> Finding:
        """The finding once these memories have gone; what is alike to nothing any more is no duplicate."""
        stays = [which(sample.stamp) not in gone for sample in self.samples]
        groups = [tuple(at for at in group if stays[at]) for group in self.groups]
        groups = [group for group in groups if len(group) > 1]
        if self.groups:
            alike = {at for group in groups for at in group}
            stays = [at in alike for at in range(len(stays))]
        if all(stays):
            return self
        kept = [at for at in range(len(stays)) if stays[at]]
        places = {at: number for number, at in enumerate(kept)}
        samples = tuple(self.samples[at] for at in kept)
        size = sum(sample.stamp.size for sample in samples)
        groups = [tuple(places[at] for at in group) for group in groups]
        return replace(self, samples=samples, size=size, groups=tuple(groups))


@dataclass(frozen=True, slots=True)
class AuditReport:
    """`findings` only hold kinds that were found, the most bytes first. `rows` and `size` are of all looked at."""

    findings: tuple[Finding, ...]
    rows: int
    size: int
    notes: tuple[str, ...] = ()
    superseded: frozenset[Handle] = frozenset()
    """Which of the rows a newer memory replaced: a list of the store hides them."""

    def finding(self, kind: FindingKind) -> Finding | None:
        """What was found of one kind."""
        return next((finding for finding in self.findings if finding.kind == kind), None)

    def without(self, gone: Collection[Which]) -> AuditReport:
        """The report once these memories have gone; findings that are empty then are left out."""
        sizes = {
            which(stamp): stamp.size for finding in self.findings for stamp in finding.stamps if which(stamp) in gone
        }
        left = [finding.without(gone) for finding in self.findings]
        return replace(
            self,
            findings=tuple(sorted((finding for finding in left if finding.samples), key=lambda finding: -finding.size)),
            rows=self.rows - len(sizes),
            size=self.size - sum(sizes.values()),
            superseded=self.superseded - {handle for _, handle in gone},
        )


def own_findings(key: str, content: str, bounds: tuple[int, int]) -> dict[FindingKind, str]:
    """The findings of one memory with a remark each; `bounds` are those of `trimmed`."""
    found: dict[FindingKind, str] = {}
    start, end = bounds
    lower_key = key[:_HEAD].strip(WHITE_SPACE).lower()
    if lower_key == _ASSISTANT or lower_key.startswith(f"{_ASSISTANT}_"):
        found["assistant replies"] = ""
    if not key.strip(WHITE_SPACE):
        found["empty keys"] = "no key" if not key else "key of blanks only"
    if end - start < TOO_SHORT:
        found["too short"] = counted(end - start, "character")
    if len(content) > TOO_LONG:
        found["too long"] = counted(len(content), "character")
    if blocks := content.count(_OWN_BLOCK):
        found["recall blobs"] = "one recalled block" if blocks == 1 else f"{blocks:,} recalled blocks"
    if results := content.count(_TOOL_RESULT):
        found["tool results"] = "one tool result" if results == 1 else f"{results:,} tool results"
    runtime = _runtime(content, start)
    if runtime is not None:
        found["heartbeat and cron"] = runtime
    if names := look_alike_secrets(content):
        found["secrets"] = secrets_remark(names)
    return found


@dataclass(frozen=True, slots=True)
class HiddenText:
    """What a memory hides: what it is in a few words, what it spells, and a piece of the content around the first."""

    remark: str
    spelled: str
    excerpt: str


def hidden_text_in(key: str, content: str) -> HiddenText | None:
    """What the content hides, or else the key; None where nothing is hidden."""
    for text, where in ((content, ""), (key, "in the key: ")):
        if text.isascii():
            continue
        runs = list(islice(suspicious_runs(text), _MOST_RUNS))
        if not runs:
            continue
        count = sum(run.end - run.start for run in runs)
        kinds = tuple(dict.fromkeys(kind for run in runs for kind in run.kinds))
        if len(kinds) > 1:
            told = f"{count:,} hidden characters: {', '.join(kinds)}"
        elif kinds[0].startswith("U+"):
            told = kinds[0] if count == 1 else f"{count:,} × {kinds[0]}"
        else:
            told = kinds[0].removesuffix("s") if count == 1 else f"{count:,} {kinds[0]}"
        spelled = " ".join(run.spelled for run in runs if run.spelled)
        spelled = masked(spelled if len(spelled) <= _MOST_SPELLED else spelled[:_MOST_SPELLED] + "…")
        start = max(0, runs[0].start - _BEFORE_HIDDEN) if text is content else 0
        return HiddenText(where + told, spelled, ("…" if start else "") + beginning_of(content[start:]))
    return None


def trimmed(content: str) -> tuple[int, int]:
    """Where a content begins and ends without the blanks around it, by Unicode's White_Space as ZeroClaw trims."""
    start, end = 0, len(content)
    if end and content[0] > " " and content[-1] > " " and content.isascii():
        return start, end
    while start < end and content[start] in WHITE_SPACE:
        start += 1
    while end > start and content[end - 1] in WHITE_SPACE:
        end -= 1
    return start, end


def digest(owner: str, content: str, bounds: tuple[int, int]) -> bytes:
    """Sixteen bytes that are the same for the same trimmed content of one owner."""
    start, end = bounds
    if end - start <= _SLICE:
        whole = f"{owner}\0{content[start:end]}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(whole, digest_size=16).digest()
    hashed = hashlib.blake2b(f"{owner}\0".encode("utf-8", "surrogatepass"), digest_size=16)
    for at in range(start, end, _SLICE):
        hashed.update(content[at : min(end, at + _SLICE)].encode("utf-8", "surrogatepass"))
    return hashed.digest()


def excerpt_of(content: str) -> str:
    """The beginning of a content as shown on one line, its secrets masked."""
    return cut(one_line(_beginning(content, is_cut=False)), EXCERPT_CELLS)


def beginning_of(content: str, *, is_cut: bool = False) -> str:
    """As that, but with its characters as they are: whoever shows it cleans it. `is_cut`: it is only a beginning."""
    line = _BLANKS.sub(" ", _beginning(content, is_cut=is_cut)).strip(" ")
    return line if len(line) <= EXCERPT_CELLS else line[: EXCERPT_CELLS - 1] + "…"


def _beginning(content: str, *, is_cut: bool) -> str:
    head = masked(content[:_MASKED_AHEAD])
    if is_cut or len(content) > _MASKED_AHEAD:
        # What stands last may be the beginning of a secret.
        head = _LAST_TOKEN.sub(lambda last: last[0][:_SHOWN_OF_LAST], head) + "…"
    return head


def _runtime(content: str, start: int) -> str | None:
    if content.startswith("[", start):
        head = content[start : start + _HEAD].lower()
        for begins, name in _RUNTIME_STARTS.items():
            if head.startswith(begins):
                return name
    return "distilled" if _holds(content, _RUNTIME_MARK) else None


def _holds(content: str, text: str) -> bool:
    """Whether a text occurs in whatever case."""
    if len(content) <= _SLICE:
        return text in content.lower()
    step = _SLICE - len(text)
    return any(text in content[at : at + _SLICE].lower() for at in range(0, len(content), step))


_TOLD_AFTER_ROWS, _TOLD_AFTER_BYTES = 200, 2_000_000
_FETCHED = 500

Found = dict[FindingKind, list[tuple[int, Sample]]]


async def audit_memories(
    library: Library, on_progress: ProgressCallback | None = None, agents: Sequence[str] = ()
) -> AuditReport:
    """Every finding among the memories of these agents, of all where none is named. `on_progress` gets the rows looked
    at so far; its False ends it with SearchInterrupted.

    One pass over the rows, a content at a time; works on a thread, never holding more than a bounded share of the
    contents. Near duplicates go by cosine where both rows have vectors of one length, else by shared word shingles.
    """
    if library.memory.about.not_read_because is not None and library.memory.about.program is None:
        raise Refused(library.memory.about.not_read_because, hint="Clean-up checks the memories of an agent.")
    wanted = MemoryFilter(agent=tuple(agents), superseded=Superseded.SHOW) if agents else None
    stop = threading.Event()

    def going(done: int) -> None:
        if stop.is_set() or (on_progress is not None and not on_progress(done)):
            raise SearchInterrupted

    looked = _Look(library.memory.stamp_of, going)
    try:
        await library.memory.scan(looked.see, wanted)
        again = partial(going, looked.rows)
        again()
        duplicates = await asyncio.to_thread(looked.contents.duplicates, again)
        return await _report(library, looked, duplicates, again)
    finally:
        stop.set()


class _Look:
    """What one pass gathers: findings that a memory tells by itself, and what others are found by afterwards.

    Of each row it keeps some hundred bytes, whatever its content, once some more have come.
    """

    def __init__(self, stamp_of: Callable[[Row], RowVersion], going: Callable[[int], None]) -> None:
        self.rows = self.size = 0
        self.contents = Contents()
        self._rowids = array("q")
        self._names: list[Handle] = []
        self.superseded: set[Handle] = set()
        self.found: Found = {kind: [] for kind in KINDS}
        self._states = array("q")
        """What tells each state from others, within this process."""
        self._stamp_of, self._going = stamp_of, going
        self._tells_at_rows = self._tells_at_size = 1

    def see(self, row: Row) -> None:
        """Look at one row."""
        stamp, value = self._stamp_of(row), row.values.get
        content, handle, contents = column_text(value("content")), stamp.handle, self.contents
        bounds, owner = trimmed(content), f"{stamp.agent or ''}\0{column_text(value('namespace') or 'default')}"
        written = moment(stamp.updated_at or stamp.when)
        pinned, session = bool(value("pinned")), session_of(value("session_id"))
        contents.add(
            owner,
            digest(owner, content, bounds),
            content,
            durability(pinned=pinned, category=stamp.category, session=session),
            written.timestamp() if written else 0.0,
            is_compared=value("superseded_by") is None,
        )
        dimensions = value("embedding_dimensions")
        contents.vectors.add(value("embedding"), dimensions if isinstance(dimensions, int) else None)
        if not self._names and isinstance(handle, int) and handle.bit_length() < 64:
            self._rowids.append(handle)
        else:
            self._names.append(handle)
        self._states.append(hash(stamp.state))
        if value("superseded_by") is not None:
            self.superseded.add(handle)
        if told := own_findings(stamp.key, content, bounds):
            excerpt = beginning_of(content)
            for kind, remark in told.items():
                self.found[kind].append((self.rows, Sample(stamp, excerpt, remark, pinned, session=session)))
        if not (content.isascii() and stamp.key.isascii()) and (hidden := hidden_text_in(stamp.key, content)):
            sample = Sample(stamp, hidden.excerpt, hidden.remark, pinned, hidden.spelled, session)
            self.found["hidden text"].append((self.rows, sample))
        self.rows += 1
        self.size += stamp.size
        if self.rows >= self._tells_at_rows or self.size >= self._tells_at_size:
            self._tells_at_rows, self._tells_at_size = self.rows + _TOLD_AFTER_ROWS, self.size + _TOLD_AFTER_BYTES
            self._going(self.rows)

    def handle(self, number: int) -> Handle:
        """Which row it was; those that are numbers take eight bytes each."""
        return self._rowids[number] if number < len(self._rowids) else self._names[number - len(self._rowids)]

    def is_as_seen(self, number: int, stamp: RowVersion) -> bool:
        """Whether a row still has the state it was looked at in."""
        return self._states[number] == hash(stamp.state)


async def _report(library: Library, looked: _Look, duplicates: Duplicates, going: Callable[[], None]) -> AuditReport:
    wrong = looked.contents.vectors.wrong(_expected_length(library, looked.contents.vectors))
    numbers = {*wrong, *(number for group in (*duplicates.exact, *duplicates.near) for number in group)}
    samples = await _samples(library.memory, looked, sorted(numbers), going)
    looked.found["stale vectors"] += [
        (number, replace(samples[number], remark=remark)) for number, remark in wrong.items() if number in samples
    ]
    findings = [
        Finding(kind, tuple(sample for _, sample in found), _size(sample for _, sample in found), REMARKS[kind])
        for kind, found in looked.found.items()
        if found
    ]
    alike = {number: f"{int(how * 100 + 1e-6)} % alike" for number, how in duplicates.likeness.items()}
    near = _of_groups("near duplicates", duplicates.near, samples, alike)
    notes: list[str] = []
    if duplicates.left_out and near:
        near = [replace(near[0], remark=f"{near[0].remark} {duplicates.left_out}", is_whole=False)]
    elif duplicates.left_out:
        notes.append(duplicates.left_out)
    findings += _of_groups("exact duplicates", duplicates.exact, samples, {})
    findings += near
    findings.sort(key=lambda finding: (-finding.size, KINDS.index(finding.kind)))
    if changed := len(numbers) - len(samples):
        notes.append(f"{counted(changed)} changed during the check and may be missing here. Check again to see all.")
    return AuditReport(tuple(findings), looked.rows, looked.size, tuple(notes), frozenset(looked.superseded))


def _of_groups(
    kind: FindingKind, groups: Sequence[Sequence[int]], samples: dict[int, Sample], remarks: Mapping[int, str]
) -> list[Finding]:
    """The finding of these groups, without those that only one is left of; none where none is."""
    left = [[number for number in group if number in samples] for group in groups]
    left = [group for group in left if len(group) > 1]
    if not left:
        return []
    numbers = sorted(number for group in left for number in group)
    places = {number: at for at, number in enumerate(numbers)}
    shown = tuple(replace(samples[number], remark=remarks.get(number, "")) for number in numbers)
    indexes = tuple(tuple(places[number] for number in group) for group in left)
    return [Finding(kind, shown, _size(shown), REMARKS[kind], indexes)]


async def _samples_of(memory: Memory, handles: Sequence[Handle]) -> list[Sample]:
    found: list[Sample] = []
    for start in range(0, len(handles), _FETCHED):
        some = handles[start : start + _FETCHED]
        stamps = {stamp.handle: stamp for stamp in await versions_at(memory, some)}
        for entry in await memory.rows(Query(EXCERPTS, handles=some)):
            if entry.handle in stamps:
                excerpt = beginning_of(entry.content, is_cut=entry.is_excerpt)
                stamp, pinned = stamps[entry.handle], bool(entry.pinned)
                found.append(Sample(stamp, excerpt, pinned=pinned, session=entry.session_id))
    return found


async def _samples(
    memory: Memory, looked: _Look, numbers: Sequence[int], going: Callable[[], None]
) -> dict[int, Sample]:
    """These memories by their numbers, those left out that changed or went since they were looked at."""
    found: dict[int, Sample] = {}
    for start in range(0, len(numbers), _FETCHED):
        going()
        some = {looked.handle(number): number for number in numbers[start : start + _FETCHED]}
        for sample in await _samples_of(memory, list(some)):
            number = some[sample.stamp.handle]
            if looked.is_as_seen(number, sample.stamp):
                found[number] = sample
    return found


def _expected_length(library: Library, vectors: Vectors) -> int | None:
    """How many numbers a vector should have: what the config says, else what most have; None where neither tells."""
    if library.embedder is not None:
        return library.config.embedding.dimensions
    (first, most), (_, next_most) = [*vectors.lengths.most_common(2), (0, 0), (0, 0)][:2]
    return first if most > next_most else None


def _size(samples: Iterable[Sample]) -> int:
    return sum(sample.stamp.size for sample in samples)


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The memories that stay, each with its copies that go to the trash. `going` is the plan of all that go."""

    groups: tuple[tuple[Sample, tuple[Sample, ...]], ...]
    going: PurgePlan


def plan_merge(findings: Iterable[Finding], *, only: Sequence[int] | None = None) -> MergePlan:
    """The most durable copy of each group stays: pinned, then core, other categories, daily, conversation.

    Within a category it is the copy without a session, then the newest. Pinned memories always stay. A conversation
    memory goes only where a copy of the same session or without a session stays. `only` are indexes into the groups of
    every finding. Groups of several findings that share a memory are planned as one.
    """
    groups: list[dict[Which, Sample]] = []
    for finding in findings:
        for number in range(len(finding.groups)) if only is None else only:
            group = {which(sample.stamp): sample for sample in map(finding.samples.__getitem__, finding.groups[number])}
            for other in [other for other in groups if not group.keys().isdisjoint(other)]:
                groups.remove(other)
                group = other | group
            groups.append(group)
    merged = [merged_group for group in groups for merged_group in _merged(group.values())]
    return MergePlan(tuple(merged), plan_of(sample.stamp for _, going in merged for sample in going))


def durability(*, pinned: bool, category: str, session: str | None) -> int:
    """How long ZeroClaw remembers a memory and in how many conversations; of duplicates the highest stays."""
    return 100 * pinned + 10 * _CATEGORY_RANKS.get(category, 2) + (session is None)


def session_of(value: object) -> str | None:
    """The session in a column of a row."""
    return None if value is None else column_text(value)


async def merge(library: Library, plan: MergePlan, on_progress: ProgressCallback | None = None) -> Outcome:
    """Move the others to the trash, as one action of verb "merge".

    Where the one that stays changed or went since, its group is left alone and told: it may say something else by now.
    """
    refuse_read_only(library)
    kept = await _as_planned(library, plan)
    left = {
        sample.stamp.handle: sample.stamp.id
        for stays, going in plan.groups
        if stays.stamp.handle not in kept
        for sample in going
    }
    going = plan_of(stamp for stamp in plan.going.stamps if stamp.handle not in left) if left else plan.going
    outcome = await remove_memories(library, going, "merge", on_progress=on_progress)
    return replace(outcome, changed=(*outcome.changed, *left.values()))


async def _as_planned(library: Library, plan: MergePlan) -> set[Handle]:
    """The ones that stay which still are as they were looked at."""
    states = {stays.stamp.handle: stays.stamp.state for stays, _ in plan.groups}
    stamps = await versions_at(library.memory, list(states))
    return {stamp.handle for stamp in stamps if stamp.state == states[stamp.handle]}


def _merged(copies: Iterable[Sample]) -> list[tuple[Sample, tuple[Sample, ...]]]:
    """Each copy that stays with those that it replaces; copies that replace none are left out."""

    def rank(numbered: tuple[int, Sample]) -> tuple[int, float, int]:
        number, sample = numbered
        written = moment(sample.stamp.updated_at or sample.stamp.when)
        durable = durability(pinned=sample.pinned, category=sample.stamp.category, session=sample.session)
        return durable, written.timestamp() if written else 0.0, number

    replaced: list[tuple[Sample, list[Sample]]] = []
    first_of: dict[str | None, int] = {}
    for _, sample in sorted(enumerate(copies), key=rank, reverse=True):
        if sample.stamp.category == "conversation":
            # Only what is recalled wherever this one is replaces it.
            better = [first_of[session] for session in (None, sample.session) if session in first_of]
        else:
            better = [0] if replaced else []
        if better and not sample.pinned:
            replaced[min(better)][1].append(sample)
        else:
            first_of.setdefault(sample.session, len(replaced))
            replaced.append((sample, []))
    return [(stays, tuple(going)) for stays, going in replaced if going]
