"""What of a recall reaches the prompt, by the rules of every ZeroClaw version: scanner, rerank, decay, skips, caps.

The rerank stage of ZeroClaw >= 0.8.4: where `memory.rerank_enabled` is set, a pool larger than the turn's limit is
recalled; its scores are blended with importance and recency in place of time decay, doubles collapse, MMR may reorder,
and the first of the rest go on. It acts in the block put before a message alone, never in the agent's recall tool. The
rules are those of ZeroClaw 0.8.4, in 64-bit arithmetic and in its order of additions.

The content scanner of ZeroClaw >= 0.8.4 looks in contents for threats, which it keeps from the agent, and for what it
may redact.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, TypeVar

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import Rule, ScoredEntry, Stop
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import RerankSettings, ScoringProfile, Trial, parse_version

if TYPE_CHECKING:
    import numpy as np

LARGEST_POOL = 1024
NEARLY_THE_SAME = 0.92
"""From this Jaccard similarity of adjacent word pairs on, the later of two memories is left out."""
HALF_LIFE_DAYS = 7.0

_DEFAULT_WEIGHTS = (0.2, 0.1)
_EPSILON = 2.0**-52
_ROUNDING = 1e-9
_SMALL_PRODUCT = 2**23
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_BLANKS = re.compile(f"[{re.escape(WHITE_SPACE)}]+")
RECALL_LIMIT = 5
"""How many memories ZeroClaw recalls for one message."""
MOST_ENTRIES = 4
MOST_ENTRY_CHARACTERS = 800
MOST_CHARACTERS = 4000
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_NOISE_STARTS = ("[cron:", "[heartbeat task", "[distilled_")
_OWN_BLOCK = "[memory context]"
_OWN_BLOCK_SINCE = (0, 7, 3)
_NOISE_HEAD = 20
Row = TypeVar("Row")
REPEATED = Stop("skip", "same key as one before")


@dataclass(frozen=True, slots=True)
class Blend:
    """What a score is blended of, each in 0..1: the recall's score, importance and recency, with their weights."""

    relevance: float
    importance: float
    recency: float
    weights: tuple[float, float, float]
    """Of relevance, importance and recency, in this order; with the default ones 0.7, 0.2 and 0.1."""
    score: float


@dataclass(frozen=True, slots=True)
class Reranked:
    """What becomes of one memory of the pool. `place` counts from 1 among what goes on to the threshold.

    `stop` is what leaves it out: it collapses with an earlier one, or its place is behind the limit.
    """

    place: int | None = None
    stop: Stop | None = None


def pool_size(trial: Trial) -> int:
    """How many memories each session scope recalls: the turn's limit, or `candidate_multiplier` times as many."""
    limit = trial.request.limit
    if not trial.reranks or limit <= 0:
        return limit
    final = final_limit(limit)
    return max(min(final * max(trial.settings.rerank.candidate_multiplier, 1), LARGEST_POOL), final)


def final_limit(limit: int) -> int:
    """How many memories the stage hands on at most; an unlimited turn has its largest pool."""
    return min(max(limit, 1), LARGEST_POOL)


def blend(score: float, importance: float | None, age_in_days: float | None, settings: RerankSettings) -> Blend:
    """A score with importance and recency in it. `age_in_days` is None for core memories and times that cannot be read:
    they count as new."""
    relevance, weight = _clamped(score), _clamped(importance or 0.0)
    recency = 1.0 if age_in_days is None else fading(age_in_days)
    weights, total = blend_weights(settings)
    of_relevance, of_importance, of_recency = weights
    blended = relevance * of_relevance + weight * of_importance + recency * of_recency
    return Blend(relevance, weight, recency, weights, _clamped(blended) if total is None else blended / total)


def blend_weights(settings: RerankSettings) -> tuple[tuple[float, float, float], float | None]:
    """What relevance, importance and recency weigh, and what their sum is divided by; None with the default weights,
    where it is clamped to 0..1 instead."""
    given = (settings.importance_weight, settings.recency_weight)
    if all(abs(one - other) <= _EPSILON for one, other in zip(given, _DEFAULT_WEIGHTS, strict=True)):
        return (0.7, *_DEFAULT_WEIGHTS), None
    of_importance, of_recency = map(_clamped, given)
    # Weights of more than 1 together leave no share to the recall's own score.
    of_relevance = max(1.0 - of_importance - of_recency, 0.0)
    return (of_relevance, of_importance, of_recency), of_relevance + of_importance + of_recency


def fading(age_in_days: float) -> float:
    """What age leaves of a score, 0..1: half of it each HALF_LIFE_DAYS."""
    return math.exp(-age_in_days / HALF_LIFE_DAYS * math.log(2))


def rerank(pool: Sequence[ScoredEntry], settings: RerankSettings, threshold: float, limit: int) -> list[Reranked]:
    """What becomes of each of the eligible memories of a pool, whose `reranked` scores are blended already.

    By score, equal ones in the order recalled; doubles collapse; MMR where `settings` ask for it; what is under
    `threshold` goes without taking a place, then the first `limit` go on.
    """
    order = sorted(range(len(pool)), key=lambda at: -_compared_score(pool[at]))
    left, fates = _collapsed(pool, order)
    if settings.strategy == "mmr" and left and len(left) >= settings.threshold:
        left = _by_mmr(pool, left, _clamped(settings.mmr_lambda))
    place = 0
    for at in left:
        score = pool[at].reranked
        if score is not None and score < threshold:
            continue
        place += 1
        behind = f"{place:,} of the reranked, and only the first {limit:,} go on"
        fates[at] = Reranked(place) if place <= limit else Reranked(None, Stop("rerank", behind))
    return [fates.get(at, Reranked()) for at in range(len(pool))]


def _collapsed(pool: Sequence[ScoredEntry], order: Sequence[int]) -> tuple[list[int], dict[int, Reranked]]:
    """The rows left, in this order, and why the others are not."""
    seen: dict[str, int] = {}
    remaining: list[int] = []
    texts = NearTexts[int]()
    fates: dict[int, Reranked] = {}
    for at in order:
        text = compared_text(pool[at].entry.content)
        earlier = seen.setdefault(text, at)
        if earlier != at:
            fates[at] = Reranked(stop=Stop("rerank", f"the same text as {pool[earlier].entry.key}"))
            continue
        pairs = pairs_of(text)
        near = next(texts.near(pairs), None)
        if near is None:
            remaining.append(at)
            texts.add(at, pairs)
        else:
            words = f"nearly the text of {pool[near[0]].entry.key} ({near[1]:.2f} alike)"
            fates[at] = Reranked(stop=Stop("rerank", words))
    return remaining, fates


class NearTexts(Generic[Row]):
    """Texts by their pairs of words, and which of them are nearly the same as another."""

    def __init__(self) -> None:
        self._rows: list[tuple[Row, frozenset[tuple[str, ...]]]] = []
        self._having: dict[tuple[str, ...], list[int]] = {}

    def add(self, row: Row, pairs: frozenset[tuple[str, ...]]) -> None:
        """One more."""
        for pair in pairs:
            self._having.setdefault(pair, []).append(len(self._rows))
        self._rows.append((row, pairs))

    def near(self, pairs: frozenset[tuple[str, ...]]) -> Iterator[tuple[Row, float]]:
        """The rows that are nearly the same, in the order they were added, with their similarity.

        Such a row lacks at most the share of the pairs by which it may differ, so of one more than that it has one:
        rows with none of the rarest of them need no look (the prefix filter of set similarity joins, Chaudhuri et al.
        2006).
        """
        rarest = sorted(pairs, key=lambda pair: len(self._having.get(pair, ())))
        most_lacking = int((1.0 - NEARLY_THE_SAME) * len(pairs) + _ROUNDING)
        for place in sorted({at for pair in rarest[: most_lacking + 1] for at in self._having.get(pair, ())}):
            row, others = self._rows[place]
            shared = len(pairs & others)
            likeness = shared / (len(pairs) + len(others) - shared)
            if likeness >= NEARLY_THE_SAME:
                yield row, likeness


def _by_mmr(pool: Sequence[ScoredEntry], left: Sequence[int], share: float) -> list[int]:
    """Maximal marginal relevance: the best first, then always the row whose score is best after what it repeats.

    Of equal values ZeroClaw takes the last.
    """
    import numpy as np

    likeness = likeness_table([words_of(pool[at].entry.content) for at in left])
    scores = np.array([_compared_score(pool[at]) for at in left], dtype=np.float64)
    taken = [0]
    repeats = likeness[0].copy()
    remaining = np.arange(1, len(left))
    while len(remaining):
        values = share * scores[remaining] - (1.0 - share) * repeats[remaining]
        best = len(values) - 1 - int(np.argmax(values[::-1]))
        chosen = int(remaining[best])
        taken.append(chosen)
        remaining = np.delete(remaining, best)
        np.maximum(repeats, likeness[chosen], out=repeats)
    return [left[at] for at in taken]


def likeness_table(texts: Sequence[Sequence[str]]) -> np.ndarray:
    """The Jaccard similarity of the words of each two texts, shape (texts, texts), float64; two empty ones have 0."""
    import numpy as np

    sets = [set(text) for text in texts]
    counts = Counter(word for known in sets for word in known)
    # A word of one text alone is shared with none.
    codes = {word: code for code, word in enumerate(word for word, count in counts.items() if count > 1)}
    words = np.zeros((len(texts), max(len(codes), 1)), dtype=np.float32)
    for row, known in enumerate(sets):
        words[row, [codes[word] for word in known if word in codes]] = 1.0
    # BLAS would start threads, which costs more than a small product does.
    is_small = words.size * len(words) < _SMALL_PRODUCT
    shared = (np.einsum("ik,jk->ij", words, words) if is_small else words @ words.T).astype(np.float64)
    sizes = np.array([len(known) for known in sets], dtype=np.float64)
    together = sizes[:, None] + sizes[None, :] - shared
    table: np.ndarray = np.divide(shared, together, out=np.zeros_like(shared), where=together > 0)
    return table


def _compared_score(scored: ScoredEntry) -> float:
    return 0.0 if scored.reranked is None else scored.reranked


def compared_text(content: str) -> str:
    """A content as it is compared with others: its words, one blank between them, A to Z in lower case."""
    return " ".join(words_of(content)).translate(_ASCII_LOWER)


def pairs_of(text: str) -> frozenset[tuple[str, ...]]:
    """The adjacent words of a compared text; a single word is its own pair."""
    words = text.split(" ") if text else []
    if len(words) == 1:
        return frozenset([(words[0],)])
    return frozenset(pairwise(words))


def words_of(text: str) -> list[str]:
    """The words of a content, split at Unicode white space."""
    return [word for word in _BLANKS.split(text) if word]


def _clamped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def judge(entries: Sequence[ScoredEntry], trial: Trial) -> tuple[ScoredEntry, ...]:
    """The same entries, in their order, each with `injected`, `stop` and the score compared with the
    threshold: `decayed`, or `reranked` with its `place`.

    ZeroClaw's channels, and every path from 0.8.3 on, inject at most 4 entries of 800 characters and 4,000 characters
    of lines; the CLI agent up to 0.8.2 takes all that were recalled. From 0.8.3 on only the first of each key counts,
    whoever's they are. Where a version decays, score x 2^(-age / 7 days)
    is compared with the threshold, but for core memories and times that cannot be read. A score of None always passes.
    Before 0.8.3 each session scope makes a block of its own. Left out: the lift of core memories of 0.1.8 alone.
    Raises UsageError when `as_of` of the request is no moment.
    """
    now = _turn_time(trial.request.as_of)
    if trial.reranks:
        return _judged_in_place(entries, trial, now)
    if trial.profile.joins_scopes or not trial.request.further_sessions:
        return _judged(entries, trial, now)
    scopes = sorted({scored.scope for scored in entries})
    return tuple(
        scored for scope in scopes for scored in _judged([each for each in entries if each.scope == scope], trial, now)
    )


def _judged(entries: Sequence[ScoredEntry], trial: Trial, now: datetime) -> tuple[ScoredEntry, ...]:
    """By time decay, as recalled."""
    profile, by_channel_rule = trial.profile, follows_channel_rule(trial.profile, trial.request.rule)
    decays = profile.decays_channel if by_channel_rule else profile.decays_cli
    budget = _Budget(by_channel_rule)
    judged = []
    repeats = repeated_keys([None if scored.withheld else scored.entry.key for scored in entries], profile)
    for scored, repeats_a_key in zip(entries, repeats, strict=True):
        decayed = _decayed(scored, now) if decays else None
        stop = (
            (Stop("scanner", scored.withheld) if scored.withheld else None)
            or (REPEATED if repeats_a_key else None)
            or _below_threshold(trial.settings.threshold, scored.score, decayed, "decay")
            or budget.closed
            or next(skip_rules(scored.entry, trial), None)
            or budget.refusal(scored.entry)
        )
        judged.append(replace(scored, decayed=decayed, injected=stop is None, stop=stop))
    return tuple(judged)


def _judged_in_place(entries: Sequence[ScoredEntry], trial: Trial, now: datetime) -> tuple[ScoredEntry, ...]:
    """By the rerank stage: the pool as recalled, what may go in at all, then the stage, the threshold and the caps."""
    pool, settings = pool_size(trial), trial.settings
    stops: dict[int, Stop | None] = {}
    blended: list[ScoredEntry] = []
    eligible: list[int] = []
    repeats = repeated_keys([None if scored.withheld else scored.entry.key for scored in entries], trial.profile)
    for at, scored in enumerate(entries):
        made = _blend(scored, now, settings.rerank)
        blended.append(replace(scored, reranked=None if made is None else made.score))
        stops[at] = (
            (Stop("scanner", scored.withheld) if scored.withheld else None)
            or (REPEATED if repeats[at] else None)
            or (Stop("limit", limit=pool) if at >= pool else None)
            or next(skip_rules(scored.entry, trial), None)
        )
        if stops[at] is None:
            eligible.append(at)
    limit = final_limit(trial.request.limit)
    fates = rerank([blended[at] for at in eligible], settings.rerank, settings.threshold, limit)
    placed: list[tuple[int, int]] = []
    for at, fate in zip(eligible, fates, strict=True):
        scored = blended[at] = replace(blended[at], place=fate.place)
        if fate.place is None:
            stops[at] = fate.stop or _below_threshold(settings.threshold, scored.score, scored.reranked, "rerank")
        else:
            placed.append((fate.place, at))
    budget = _Budget(True)
    for _, at in sorted(placed):
        stops[at] = budget.closed or budget.refusal(entries[at].entry)
    return tuple(replace(scored, injected=stops[at] is None, stop=stops[at]) for at, scored in enumerate(blended))


def repeated_keys(keys: Sequence[str | None], profile: ScoringProfile) -> list[bool]:
    """Which memories, in the order recalled, have the key of one before them, for which a version leaves them out of
    the prompt: agents that read each other's memories can have one each. None has no key that counts."""
    if not profile.joins_scopes:
        return [False] * len(keys)
    first: dict[str, int] = {}
    return [key is not None and first.setdefault(key, at) != at for at, key in enumerate(keys)]


def blend_of(scored: ScoredEntry, trial: Trial) -> Blend | None:
    """What the rerank stage blends the score of a recalled memory of; None for one without a score."""
    return _blend(scored, _turn_time(trial.request.as_of), trial.settings.rerank)


def context_block(entries: Sequence[ScoredEntry], profile: ScoringProfile, rule: Rule) -> str:
    """The literal text that the injected ones of judged entries put before the message; "" when there are none.

    ZeroClaw ends the block with an empty line, from 0.6.3 on ahead of it with `[/Memory context]`. Before 0.8.3 a turn
    with several session scopes has a block for each, joined by a line end.
    """
    by_channel_rule = follows_channel_rule(profile, rule)
    injected = in_prompt_order(entries)
    scopes = {0} if profile.joins_scopes else {scored.scope for scored in injected}
    end = "[/Memory context]\n\n" if profile.closes_context_block else "\n"
    blocks = []
    for scope in sorted(scopes):
        of_scope = injected if profile.joins_scopes else [scored for scored in injected if scored.scope == scope]
        lines = [prompt_line(scored.entry, by_channel_rule) for scored in of_scope]
        blocks += ["".join(["[Memory context]\n", *lines, end])] if lines else []
    return "\n".join(blocks)


def in_prompt_order(entries: Sequence[ScoredEntry]) -> list[ScoredEntry]:
    """The injected ones of judged entries in the order of the prompt: as recalled, or as rerank placed them."""
    injected = [scored for scored in entries if scored.injected]
    return sorted(injected, key=lambda scored: scored.place or 0)


def characters_used(entries: Sequence[ScoredEntry], profile: ScoringProfile, rule: Rule) -> int:
    """How many characters the lines of the injected ones take, without the block's head and end."""
    by_channel_rule = follows_channel_rule(profile, rule)
    return sum(len(prompt_line(scored.entry, by_channel_rule)) for scored in entries if scored.injected)


def age_in_days(timestamp: str, as_of: str) -> float | None:
    """The age that time decay counts with, never negative; None for a time that ZeroClaw cannot read.

    Raises UsageError when `as_of` is no moment.
    """
    return _age_in_days(timestamp, _turn_time(as_of))


@dataclass(slots=True)
class _Budget:
    """How much of the prompt is used up; the CLI agent's older rule only knows the recall limit."""

    by_channel_rule: bool
    included: int = 0
    characters: int = 0
    closed: Stop | None = None

    def refusal(self, entry: MemoryEntry) -> Stop | None:
        """Why this entry no longer fits; one that fits is counted. The first that does not fit ends the block."""
        if not self.by_channel_rule:
            return None
        length = len(prompt_line(entry, True))
        if self.characters + length > MOST_CHARACTERS:
            self.closed = Stop("cap", "characters", limit=MOST_CHARACTERS)
            return self.closed
        self.included += 1
        self.characters += length
        if self.included == MOST_ENTRIES:
            self.closed = Stop("cap", "entries", limit=MOST_ENTRIES)
        return None


def follows_channel_rule(profile: ScoringProfile, rule: Rule) -> bool:
    """Whether memories are injected by the rule of the channels, with its caps."""
    return rule == "channel" or profile.one_injection_rule


def prompt_line(entry: MemoryEntry, is_cut: bool) -> str:
    """The line of a memory in the block; the rule of the channels cuts its content."""
    content = entry.content
    if is_cut and len(content) > MOST_ENTRY_CHARACTERS:
        content = content[:MOST_ENTRY_CHARACTERS].rstrip(WHITE_SPACE) + "..."
    return f"- {entry.key}: {content}\n"


def _below_threshold(threshold: float, score: float | None, changed: float | None, by: str) -> Stop | None:
    compared = score if changed is None else changed
    if compared is None or compared >= threshold:
        return None
    return Stop("threshold", "" if changed is None else by, compared, threshold, score)


def skip_rules(entry: MemoryEntry, trial: Trial) -> Iterator[Stop]:
    """Every rule on keys and contents that leaves a memory out, in ZeroClaw's order."""
    profile, request = trial.profile, trial.request
    by_channel_rule = follows_channel_rule(profile, request.rule)
    key = entry.key.strip(WHITE_SPACE).translate(_ASCII_LOWER)
    content = entry.content
    is_talk = entry.category == "conversation"
    is_scheduled = request.rule == "cron" and profile.skips_conversation_on_schedule
    is_sessionless = profile.skips_sessionless_conversation and not request.has_session
    is_too_long = by_channel_rule and not profile.one_injection_rule and len(content) > MOST_CHARACTERS
    skips = (
        (is_talk and is_scheduled, "conversation on a scheduled turn"),
        (is_talk and is_sessionless, "conversation without a session"),
        (_saved_as(key, "assistant_resp"), "assistant reply"),
        (profile.skips_user_messages and _saved_as(key, "user_msg"), "user message"),
        (profile.skips_autosave_noise and not content.strip(WHITE_SPACE), "empty content"),
        (profile.skips_autosave_noise and _is_noise(content, profile), "auto-save noise"),
        (by_channel_rule and key.endswith("_history"), "history key"),
        (by_channel_rule and profile.skips_images and "[IMAGE:" in content, "image"),
        (profile.skips_tool_results and "<tool_result" in content, "tool result"),
        (is_too_long, f"longer than {MOST_CHARACTERS:,} characters"),
    )
    yield from (Stop("skip", what) for applies, what in skips if applies)


def _saved_as(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}_")


def _is_noise(content: str, profile: ScoringProfile) -> bool:
    head = content.strip(WHITE_SPACE)[:_NOISE_HEAD].translate(_ASCII_LOWER)
    if head.startswith(_NOISE_STARTS):
        return True
    if head.startswith(_OWN_BLOCK) and parse_version(profile.version) >= _OWN_BLOCK_SINCE:
        return True
    return "distilled_index_sig:" in content.lower()


def _decayed(scored: ScoredEntry, now: datetime) -> float | None:
    if scored.score is None or scored.entry.category == "core":
        return scored.score
    age_days = _age_in_days(scored.entry.timestamp, now)
    if age_days is None:
        return scored.score
    return scored.score * fading(age_days)


def _blend(scored: ScoredEntry, now: datetime, settings: RerankSettings) -> Blend | None:
    if scored.score is None:
        return None
    entry = scored.entry
    age = None if entry.category == "core" else _age_in_days(entry.timestamp, now)
    return blend(scored.score, entry.importance, age, settings)


def _age_in_days(timestamp: str, now: datetime) -> float | None:
    created = zeroclaw_moment(timestamp)
    return None if created is None else max(int((now - created).total_seconds()), 0) / 86_400


def zeroclaw_moment(timestamp: str) -> datetime | None:
    """The moment, or None for what ZeroClaw's strict reading of RFC 3339 refuses, as a time without an offset."""
    upper = timestamp.upper()
    if _RFC_3339.fullmatch(upper) is None:
        return None
    try:
        return datetime.fromisoformat(upper)
    except ValueError:
        return None


def _turn_time(as_of: str) -> datetime:
    try:
        moment = datetime.fromisoformat(as_of.strip())
    except ValueError:
        raise UsageError(
            f"{as_of!r} is no moment that time decay could count to.", hint="Give one like 2026-08-01T12:00:00+02:00."
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
