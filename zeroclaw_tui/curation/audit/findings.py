"""What an audit finds: the kinds of pollution, why each hurts, and what one memory tells of them by itself."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, get_args

from zeroclaw_tui.backends.health import TrapKind
from zeroclaw_tui.curation.audit.secrets import look_alike_secrets, masked, secret_literals, secrets_remark
from zeroclaw_tui.memory.change import Stamp
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.hidden_text import suspicious_runs
from zeroclaw_tui.memory.text import WHITE_SPACE, counted, cut, one_line

FindingKind = Literal[
    "assistant replies", "recall blobs", "tool results", "heartbeat and cron", "too short", "too long", "empty keys",
    "exact duplicates", "near duplicates", "stale vectors", "secrets", "hidden text", TrapKind,
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
        "What the agent itself answered, saved by early versions: never put into the prompt, yet each takes one of the"
        " few places of a recall."
    ),
    "recall blobs": (
        "Recalled memories that were saved again with the message they were put into: copies of copies, longer with"
        " every turn."
    ),
    "tool results": "Output of tools, saved as if it were worth remembering; it crowds out what is.",
    "heartbeat and cron": (
        "Texts of the agent's own timers, which ZeroClaw >= 0.4.3 no longer saves; they match many queries and say"
        " nothing."
    ),
    "too short": (
        "Under 20 characters, too short for ZeroClaw to save by itself. Look first: a short fact is a fact too."
    ),
    "too long": (
        "Over 4,000 characters: the channels of ZeroClaw <= 0.8.2 never put them into the prompt, and one vector says"
        " little about so much text."
    ),
    "empty keys": "Without a key nothing can name them, and the next one stored without a key replaces them.",
    "exact duplicates": "The same text more than once: a recall spends several of its few places on one fact.",
    "near duplicates": (
        "Nearly the same text (cosine of 0.95 and more, or 80 % of the word pairs in common): several places of a"
        " recall for one fact, and the older one may be out of date."
    ),
    "stale vectors": (
        "Vectors that fit no query: their likeness counts as 0, and ZeroClaw's own reindex fills only empty ones."
        " `zeroclaw memory reindex` of this program makes them anew."
    ),
    "secrets": (
        "They look like secrets: in plain text in the database and its copies, and sent to the model whenever they are"
        " recalled."
    ),
    "hidden text": (
        "Characters that no screen shows and the agent reads: this is how a memory is poisoned. Others split a word, so"
        " that no search finds it. Look at what they say, then edit the memory or let it go."
    ),
}

Which = tuple[str, Handle]
"""A memory, whichever finding it is in: several files of one store may hold the same id."""


def which(stamp: Stamp) -> Which:
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


@dataclass(frozen=True, slots=True)
class Sample:
    """A memory of a finding: `excerpt` is a piece of its content, on one line, secrets masked, not cleaned for eyes."""

    stamp: Stamp
    excerpt: str
    remark: str = ""
    """What exactly was found, such as "96 % alike" or "an API key"."""
    pinned: bool = False
    """Pinned memories are never merged away."""
    spelled: str = ""
    """What its hidden characters spell, secrets masked, not cleaned for a screen; "" where they spell nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`samples` are all memories of it in the order of storing, none where it is about texts of no memory; `size` the
    bytes of their contents.

    `groups` are of duplicates: each a tuple of indexes into `samples`, two or more that are alike; empty otherwise.
    `is_whole` is False where too many had to be looked at, then `remark` says what was left out. `remark` is one
    sentence: what it is and why it hurts. `stays` is another that says why nothing of it is removed, empty where it can
    be.
    """

    kind: FindingKind
    samples: tuple[Sample, ...]
    size: int
    remark: str
    groups: tuple[tuple[int, ...], ...] = ()
    is_whole: bool = True
    stays: str = ""

    @property
    def count(self) -> int:
        """How many memories."""
        return len(self.samples)

    @property
    def stamps(self) -> tuple[Stamp, ...]:
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
    """`findings` only hold kinds that were found, the most bytes first. `rows` and `size` are the whole store's."""

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


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What stands somewhere in some contents, so that each of them need not be looked through for all of it."""

    literals: tuple[str, ...]
    has_mark: bool
    has_blocks: bool
    has_replies: bool

    @classmethod
    def of(cls, keys: Sequence[str], contents: Sequence[str]) -> Suspicion:
        """Look at all of them together."""
        text = contents[0] if len(contents) == 1 else "\n".join(contents)
        has_blocks = _OWN_BLOCK in text or _TOOL_RESULT in text
        has_replies = _ASSISTANT in "\n".join([key[:_HEAD] for key in keys]).lower()
        return cls(secret_literals(contents), _holds(text, _RUNTIME_MARK), has_blocks, has_replies)


def told_by_itself(key: str, content: str, bounds: tuple[int, int], suspicion: Suspicion) -> dict[FindingKind, str]:
    """The findings of one memory with a remark each; `bounds` are those of `trimmed`."""
    found: dict[FindingKind, str] = {}
    start, end = bounds
    if suspicion.has_replies:
        lower_key = key[:_HEAD].strip(WHITE_SPACE).lower()
        if lower_key == _ASSISTANT or lower_key.startswith(f"{_ASSISTANT}_"):
            found["assistant replies"] = ""
    if not key.strip(WHITE_SPACE):
        found["empty keys"] = "no key" if not key else "only blanks for a key"
    if end - start < TOO_SHORT:
        found["too short"] = _characters(end - start)
    if len(content) > TOO_LONG:
        found["too long"] = _characters(len(content))
    if suspicion.has_blocks:
        if blocks := content.count(_OWN_BLOCK):
            found["recall blobs"] = "one recalled block" if blocks == 1 else f"{blocks:,} recalled blocks"
        if results := content.count(_TOOL_RESULT):
            found["tool results"] = "one tool result" if results == 1 else f"{results:,} tool results"
    runtime = _runtime(content, start, has_mark=suspicion.has_mark)
    if runtime is not None:
        found["heartbeat and cron"] = runtime
    if suspicion.literals and (names := look_alike_secrets(content, suspicion.literals)):
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


def excerpt_of(content: str, *, is_cut: bool = False) -> str:
    """The beginning of a content as shown on one line, its secrets masked; `is_cut` where it is only a beginning."""
    return cut(one_line(_beginning(content, is_cut=is_cut)), EXCERPT_CELLS)


def beginning_of(content: str, *, is_cut: bool = False) -> str:
    """As that, but with its characters as they are: whoever shows it cleans it."""
    line = _BLANKS.sub(" ", _beginning(content, is_cut=is_cut)).strip(" ")
    return line if len(line) <= EXCERPT_CELLS else line[: EXCERPT_CELLS - 1] + "…"


def _beginning(content: str, *, is_cut: bool) -> str:
    head = masked(content[:_MASKED_AHEAD])
    if is_cut or len(content) > _MASKED_AHEAD:
        # What stands last may be the beginning of a secret.
        head = _LAST_TOKEN.sub(lambda last: last[0][:_SHOWN_OF_LAST], head) + "…"
    return head


def _runtime(content: str, start: int, *, has_mark: bool) -> str | None:
    if content.startswith("[", start):
        head = content[start : start + _HEAD].lower()
        for begins, name in _RUNTIME_STARTS.items():
            if head.startswith(begins):
                return name
    return "distilled" if has_mark and _holds(content, _RUNTIME_MARK) else None


def _holds(content: str, text: str) -> bool:
    """Whether a text occurs in whatever case."""
    if len(content) <= _SLICE:
        return text in content.lower()
    step = _SLICE - len(text)
    return any(text in content[at : at + _SLICE].lower() for at in range(0, len(content), step))


def _characters(count: int) -> str:
    return counted(count, "character")
