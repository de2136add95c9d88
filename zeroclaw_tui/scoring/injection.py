"""What of a recall reaches the prompt, by the rules of every ZeroClaw version."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.recall import Rule, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import RerankSettings, ScoringProfile, Trial, parse_version
from zeroclaw_tui.scoring.rerank import Blend, blend, fading, final_limit, pool_size, rerank

RECALL_LIMIT = 5
"""How many memories ZeroClaw recalls for one message."""
MOST_ENTRIES = 4
MOST_ENTRY_CHARACTERS = 800
MOST_CHARACTERS = 4000

_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_NOISE_STARTS = ("[cron:", "[heartbeat task", "[distilled_")
_OWN_BLOCK = "[memory context]"
_OWN_BLOCK_SINCE = (0, 7, 3)
_NOISE_HEAD = 20


def judge(entries: Sequence[ScoredEntry], trial: Trial) -> tuple[ScoredEntry, ...]:
    """The same entries, in their order, each with `injected`, `not_injected_because` and the score held against the
    threshold: `decayed`, or `reranked` with its `place`.

    ZeroClaw's channels, and every path from 0.8.3 on, inject at most 4 entries of 800 characters and 4,000 characters
    of lines; the CLI agent up to 0.8.2 takes all that were recalled. Where a version decays, score x 2^(-age / 7 days)
    is held against the threshold, but for core memories and times that cannot be read. A score of None always passes.
    Before 0.8.3 each session scope makes a block of its own. Left out: the lift of core memories of 0.1.8 alone.
    Raises WrongUse when `as_of` of the request is no moment.
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
    for scored in entries:
        decayed = _decayed(scored, now) if decays else None
        because = (
            (f"withheld: {scored.withheld}" if scored.withheld else None)
            or _under(trial.settings.threshold, scored.score, decayed)
            or budget.closed_because
            or skipped_because(scored.entry, trial)
            or budget.refusal(scored.entry)
        )
        judged.append(replace(scored, decayed=decayed, injected=because is None, not_injected_because=because))
    return tuple(judged)


def _judged_in_place(entries: Sequence[ScoredEntry], trial: Trial, now: datetime) -> tuple[ScoredEntry, ...]:
    """By the rerank stage: the pool as recalled, what may go in at all, then the stage, the threshold and the caps."""
    pool, settings = pool_size(trial), trial.settings
    because: dict[int, str | None] = {}
    blended: list[ScoredEntry] = []
    eligible: list[int] = []
    for at, scored in enumerate(entries):
        made = _blend(scored, now, settings.rerank)
        blended.append(replace(scored, reranked=None if made is None else made.score))
        because[at] = (
            (f"withheld: {scored.withheld}" if scored.withheld else None)
            or (f"limit: the pool of {pool:,} is full" if at >= pool else None)
            or skipped_because(scored.entry, trial)
        )
        if because[at] is None:
            eligible.append(at)
    limit = final_limit(trial.request.limit)
    fates = rerank([blended[at] for at in eligible], settings.rerank, settings.threshold, limit)
    placed: list[tuple[int, int]] = []
    for at, fate in zip(eligible, fates, strict=True):
        scored = blended[at] = replace(blended[at], place=fate.place)
        if fate.place is None:
            because[at] = fate.because or _under(settings.threshold, scored.score, scored.reranked, "rerank")
        else:
            placed.append((fate.place, at))
    budget = _Budget(True)
    for _, at in sorted(placed):
        because[at] = budget.closed_because or budget.refusal(entries[at].entry)
    return tuple(
        replace(scored, injected=because[at] is None, not_injected_because=because[at])
        for at, scored in enumerate(blended)
    )


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
    """The injected ones of judged entries as they stand in the prompt: as recalled, or as rerank placed them."""
    injected = [scored for scored in entries if scored.injected]
    return sorted(injected, key=lambda scored: scored.place or 0)


def characters_used(entries: Sequence[ScoredEntry], profile: ScoringProfile, rule: Rule) -> int:
    """How many characters the lines of the injected ones take, without the block's head and end."""
    by_channel_rule = follows_channel_rule(profile, rule)
    return sum(len(prompt_line(scored.entry, by_channel_rule)) for scored in entries if scored.injected)


def age_in_days(timestamp: str, as_of: str) -> float | None:
    """The age that time decay counts with, never negative; None for a time that ZeroClaw cannot read.

    Raises WrongUse when `as_of` is no moment.
    """
    return _age_in_days(timestamp, _turn_time(as_of))


@dataclass(slots=True)
class _Budget:
    """How much of the prompt is used up; the CLI agent's older rule only knows the recall limit."""

    by_channel_rule: bool
    included: int = 0
    characters: int = 0
    closed_because: str | None = None

    def refusal(self, entry: MemoryEntry) -> str | None:
        """Why this entry no longer fits; one that fits is counted. The first that does not fit ends the block."""
        if not self.by_channel_rule:
            return None
        length = len(prompt_line(entry, True))
        if self.characters + length > MOST_CHARACTERS:
            self.closed_because = f"cap: {MOST_CHARACTERS:,} characters reached"
            return self.closed_because
        self.included += 1
        self.characters += length
        if self.included == MOST_ENTRIES:
            self.closed_because = f"cap: {MOST_ENTRIES} entries already in"
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


def _under(threshold: float, score: float | None, changed: float | None, by: str = "decay") -> str | None:
    held = score if changed is None else changed
    if held is None or held >= threshold:
        return None
    # The score that is shown beside this is the one before.
    is_another = score is not None and f"{score:.2f}" != f"{held:.2f}"
    return f"threshold {_told_apart(held, threshold)}" + (f" after {by} from {score:.2f}" if is_another else "")


def _told_apart(score: float, threshold: float) -> str:
    """Both numbers with two decimals, or as many more as it takes to see which is smaller."""
    for decimals in range(2, 8):
        if f"{score:.{decimals}f}" != f"{threshold:.{decimals}f}":
            return f"{score:.{decimals}f} < {threshold:.{decimals}f}"
    return f"{score!r} < {threshold!r}"


def skipped_because(entry: MemoryEntry, trial: Trial) -> str | None:
    """Why a memory is never injected in such a turn, whatever its score; None when it may be."""
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
    return next((f"skipped: {what}" for applies, what in skips if applies), None)


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
    created = _rfc_3339(timestamp)
    return None if created is None else max(int((now - created).total_seconds()), 0) / 86_400


def _rfc_3339(text: str) -> datetime | None:
    """The moment, or None for what ZeroClaw's strict RFC 3339 reading refuses, a plain date for example."""
    upper = text.upper()
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
        raise WrongUse(
            f"{as_of!r} is no moment that time decay could count to.", hint="Give one like 2026-08-01T12:00:00+02:00."
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
