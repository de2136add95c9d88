"""What of a recall reaches the prompt, by the rules of every ZeroClaw version."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.recall import Rule, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import ScoringProfile, parse_version

RECALL_LIMIT = 5
"""How many memories ZeroClaw recalls for one message."""
MOST_ENTRIES = 4
MOST_ENTRY_CHARACTERS = 800
MOST_CHARACTERS = 4000
HALF_LIFE_DAYS = 7.0

_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_NOISE_STARTS = ("[cron:", "[heartbeat task", "[distilled_")
_OWN_BLOCK = "[memory context]"
_OWN_BLOCK_SINCE = (0, 7, 3)
_NOISE_HEAD = 20


def judge(
    entries: Sequence[ScoredEntry],
    profile: ScoringProfile,
    threshold: float,
    rule: Rule,
    as_of: str,
    *,
    session_id: str | None,
) -> tuple[ScoredEntry, ...]:
    """The same entries, best first, each with `injected`, `not_injected_because` and `decayed`.

    ZeroClaw's channels, and every path from 0.8.3 on, inject at most 4 entries of 800 characters and 4,000 characters
    of lines; the CLI agent up to 0.8.2 takes all of its 5. Where a version decays, score x 2^(-age / 7 days) is held
    against the threshold, but for core memories and times that cannot be read. A score of None always passes.
    Left out: the rerank stage (>= 0.8.4, off unless switched on), and the lift of core memories of 0.1.8 alone.
    `as_of` is an RFC 3339 moment; `session_id` is that of the turn. Raises WrongUse when `as_of` is no moment.
    """
    now = _turn_time(as_of)
    by_channel_rule = _by_channel_rule(profile, rule)
    decays = profile.decays_channel if by_channel_rule else profile.decays_cli
    budget = _Budget(by_channel_rule)
    judged = []
    for scored in entries:
        decayed = _decayed(scored, now) if decays else None
        because = (
            (f"withheld: {scored.withheld}" if scored.withheld else None)
            or budget.out_of_reach()
            or _under(threshold, scored.score, decayed)
            or budget.closed_because
            or _skipped(scored.entry, profile, by_channel_rule, session_id)
            or budget.refusal(scored.entry)
        )
        judged.append(replace(scored, decayed=decayed, injected=because is None, not_injected_because=because))
    return tuple(judged)


def context_block(entries: Sequence[ScoredEntry], profile: ScoringProfile, rule: Rule) -> str:
    """The literal text that the injected ones of judged entries put before the message; "" when there are none.

    ZeroClaw ends the block with an empty line, from 0.6.3 on ahead of it with `[/Memory context]`.
    """
    by_channel_rule = _by_channel_rule(profile, rule)
    lines = [_line(scored.entry, by_channel_rule) for scored in entries if scored.injected]
    if not lines:
        return ""
    end = "[/Memory context]\n\n" if profile.closes_context_block else "\n"
    return "".join(["[Memory context]\n", *lines, end])


def characters_used(entries: Sequence[ScoredEntry], profile: ScoringProfile, rule: Rule) -> int:
    """How many characters the lines of the injected ones take, without the block's head and end."""
    by_channel_rule = _by_channel_rule(profile, rule)
    return sum(len(_line(scored.entry, by_channel_rule)) for scored in entries if scored.injected)


def age_in_days(timestamp: str, as_of: str) -> float | None:
    """The age that time decay counts with, never negative; None for a time that ZeroClaw cannot read.

    Raises WrongUse when `as_of` is no moment.
    """
    return _age_in_days(timestamp, _turn_time(as_of))


@dataclass(slots=True)
class _Budget:
    """How much of the prompt is used up; the CLI agent's older rule only knows the recall limit."""

    by_channel_rule: bool
    seen: int = 0
    included: int = 0
    characters: int = 0
    closed_because: str | None = None

    def out_of_reach(self) -> str | None:
        self.seen += 1
        return f"limit: ZeroClaw recalls only the first {RECALL_LIMIT}" if self.seen > RECALL_LIMIT else None

    def refusal(self, entry: MemoryEntry) -> str | None:
        """Why this entry no longer fits; one that fits is counted. The first that does not fit ends the block."""
        if not self.by_channel_rule:
            return None
        length = len(_line(entry, True))
        if self.characters + length > MOST_CHARACTERS:
            self.closed_because = f"cap: {MOST_CHARACTERS:,} characters reached"
            return self.closed_because
        self.included += 1
        self.characters += length
        if self.included == MOST_ENTRIES:
            self.closed_because = f"cap: {MOST_ENTRIES} entries already in"
        return None


def _by_channel_rule(profile: ScoringProfile, rule: Rule) -> bool:
    return rule == "channel" or profile.one_injection_rule


def _line(entry: MemoryEntry, is_cut: bool) -> str:
    content = entry.content
    if is_cut and len(content) > MOST_ENTRY_CHARACTERS:
        content = content[:MOST_ENTRY_CHARACTERS].rstrip(WHITE_SPACE) + "..."
    return f"- {entry.key}: {content}\n"


def _under(threshold: float, score: float | None, decayed: float | None) -> str | None:
    held = score if decayed is None else decayed
    if held is None or held >= threshold:
        return None
    decay_decided = score is not None and score >= threshold
    return f"threshold {_told_apart(held, threshold)}" + (f" after decay from {score:.2f}" if decay_decided else "")


def _told_apart(score: float, threshold: float) -> str:
    """Both numbers with two decimals, or as many more as it takes to see which is smaller."""
    for decimals in range(2, 8):
        if f"{score:.{decimals}f}" != f"{threshold:.{decimals}f}":
            return f"{score:.{decimals}f} < {threshold:.{decimals}f}"
    return f"{score!r} < {threshold!r}"


def _skipped(entry: MemoryEntry, profile: ScoringProfile, by_channel_rule: bool, session_id: str | None) -> str | None:
    key = entry.key.strip(WHITE_SPACE).translate(_ASCII_LOWER)
    content = entry.content
    is_sessionless_talk = session_id is None and entry.category == "conversation"
    is_too_long = by_channel_rule and not profile.one_injection_rule and len(content) > MOST_CHARACTERS
    skips = (
        (profile.skips_sessionless_conversation and is_sessionless_talk, "conversation without a session"),
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
    return scored.score * math.exp(-age_days / HALF_LIFE_DAYS * math.log(2))


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
