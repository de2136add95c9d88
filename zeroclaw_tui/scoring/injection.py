"""Decide which recalled memories reach the prompt in every ZeroClaw version: scanner, rerank, decay, skips, caps.

The rerank stage of ZeroClaw >= 0.8.4: if `memory.rerank_enabled` is set, a pool larger than the turn's limit is
recalled; its scores are blended with importance and recency instead of time decay, duplicates are dropped, MMR may
reorder, and the first of the rest pass. It applies only to the block before a message, not to the agent's recall tool.
The rules are those of ZeroClaw 0.8.4, in 64-bit arithmetic and with its order of additions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import Rule, ScoredEntry, Stop
from zeroclaw_tui.memory.text import WHITE_SPACE, distinct_numbers
from zeroclaw_tui.scoring.profiles import ScanMode, ScoringProfile, Trial, parse_version
from zeroclaw_tui.scoring.stages import session_scopes

RECALL_LIMIT = 5
"""ZeroClaw's default limit of memories for one message."""
MAX_POOL_SIZE = 1024
NEAR_DUPLICATE = 0.92
"""From this Jaccard similarity of adjacent word pairs on, the later of two memories is dropped."""
HALF_LIFE_DAYS = 7.0
MAX_ENTRIES = 4
MAX_ENTRY_CHARACTERS = 800
MAX_CHARACTERS = 4000
_DEFAULT_WEIGHTS = (0.2, 0.1)
_EPSILON = 2.0**-52
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_BLANKS = re.compile(f"[{re.escape(WHITE_SPACE)}]+")
_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_NOISE_STARTS = ("[cron:", "[heartbeat task", "[distilled_")
_OWN_BLOCK = "[memory context]"
_OWN_BLOCK_SINCE = (0, 7, 3)
_NOISE_HEAD = 20
_PREFIXES = {"scanner": "withheld", "skip": "skipped", "rerank": "rerank"}


def judge(entries: Sequence[ScoredEntry], trial: Trial) -> tuple[ScoredEntry, ...]:
    """Judge entries in their order: set `injected`, `stop`, and the score to compare with the threshold: `decayed`, or
    `reranked` with its `place`.

    ZeroClaw's channels, and every path from 0.8.3 on, inject at most 4 entries of 800 characters and 4,000 characters
    of lines; the CLI agent up to 0.8.2 injects all recalled ones. From 0.8.3 on only the first of each key counts, of
    any agent. If a version decays, score x 2^(-age / 7 days) is compared with the threshold, except for core memories
    and unreadable times. A score of None always passes. Before 0.8.3 each session scope has its own block. Not
    implemented: the boost of core memories in 0.1.8 alone.
    Raises UsageError if `as_of` of the request is not a valid time.
    """
    _turn_time(trial.request.as_of)
    if trial.profile.joins_scopes or not trial.request.extra_sessions:
        return _judged(entries, trial)
    scopes = sorted({scored.scope for scored in entries})
    return tuple(
        scored for scope in scopes for scored in _judged([each for each in entries if each.scope == scope], trial)
    )


def _judged(entries: Sequence[ScoredEntry], trial: Trial) -> tuple[ScoredEntry, ...]:
    """Judge the memories of one block: first each alone, then the remaining ones in the order of the prompt."""
    judged = [_with_compared_score(scored, trial) for scored in entries]
    stops: list[Stop | None] = []
    keys: set[str] = set()
    for scored in judged:
        key = scored.entry.key
        if scored.withheld:
            stop: Stop | None = _stop("scanner", scored.withheld)
        elif trial.profile.joins_scopes and key in keys:
            stop = _stop("skip", "same key as one before")
        elif not reranks(trial):
            stop = _below_threshold(scored, trial)
        elif len(keys) >= pool_size(trial):
            stop = Stop("limit", f"limit: the pool of {pool_size(trial):,} is full")
        else:
            stop = next(skip_rules(scored.entry, trial), None)
        if not scored.withheld:
            keys.add(key)
        stops.append(stop)
    order = [at for at, stop in enumerate(stops) if stop is None]
    if reranks(trial):
        order = _rerank(judged, order, stops, trial)
    _fill_block(judged, order, stops, trial)
    return tuple(scored._replace(injected=stop is None, stop=stop) for scored, stop in zip(judged, stops, strict=True))


def _fill_block(judged: Sequence[ScoredEntry], order: Sequence[int], stops: list[Stop | None], trial: Trial) -> None:
    """Set the stops of the skip rules and the caps, in the order of the prompt.

    The first memory that does not fit ends the block. The CLI agent's older rule only has the recall limit.
    """
    is_capped = follows_channel_rule(trial.profile, trial.request.rule)
    characters = included = 0
    closed: Stop | None = None
    for at in order:
        entry = judged[at].entry
        stops[at] = closed or next(skip_rules(entry, trial), None)
        if stops[at] is None and is_capped:
            characters, included = characters + len(prompt_line(entry, True)), included + 1
            if characters > MAX_CHARACTERS:
                stops[at] = closed = Stop("cap", f"cap: {MAX_CHARACTERS:,} characters reached", "characters")
            elif included == MAX_ENTRIES:
                closed = Stop("cap", f"cap: {MAX_ENTRIES:,} entries already in", "entries")


def _with_compared_score(scored: ScoredEntry, trial: Trial) -> ScoredEntry:
    """Set the score that is compared with the threshold, if time decay or rerank changes it."""
    profile, score = trial.profile, scored.score
    if reranks(trial):
        made = blend_score(scored, trial)
        return scored._replace(reranked=None if made is None else made.score)
    if not (profile.decays_channel if follows_channel_rule(profile, trial.request.rule) else profile.decays_cli):
        return scored
    age = _decay_age(scored.entry, trial)
    return scored._replace(decayed=score if score is None or age is None else score * _decay_factor(age))


def _below_threshold(scored: ScoredEntry, trial: Trial) -> Stop | None:
    compared, threshold = compared_score(scored), trial.settings.threshold
    if compared is None or compared >= threshold:
        return None
    shown, limit = distinct_numbers(compared, threshold)
    changed = ""
    # The earlier score is named if it looks different.
    if scored.score is not None and f"{scored.score:.2f}" != f"{compared:.2f}":
        changed = f" after {'decay' if scored.reranked is None else 'rerank'} from {scored.score:.2f}"
    return Stop("threshold", f"threshold {shown} < {limit}{changed}")


def _stop(stage: Literal["scanner", "skip", "rerank"], rule: str) -> Stop:
    return Stop(stage, f"{_PREFIXES[stage]}: {rule}", rule)


def compared_score(scored: ScoredEntry) -> float | None:
    """The score of a judged memory that is compared with the threshold."""
    if scored.reranked is not None:
        return scored.reranked
    return scored.score if scored.decayed is None else scored.decayed


# The rerank stage.


class Blend(NamedTuple):
    """The parts of a blended score, each in 0..1: the recall's score, importance and recency, with their weights."""

    relevance: float
    importance: float
    recency: float
    weights: tuple[float, float, float]
    """For relevance, importance and recency, in this order; by default 0.7, 0.2 and 0.1."""
    score: float


def reranks(trial: Trial) -> bool:
    """Whether the block before the message is reranked: enabled, and supported by this version (>= 0.8.4)."""
    return trial.settings.rerank.enabled and trial.profile.reranks


def pool_size(trial: Trial) -> int:
    """The number of memories that each session scope recalls: the turn's limit, or `candidate_multiplier` times it."""
    limit = trial.request.limit
    if not reranks(trial) or limit <= 0:
        return limit
    final = _final_limit(limit)
    return max(min(final * max(trial.settings.rerank.candidate_multiplier, 1), MAX_POOL_SIZE), final)


def _final_limit(limit: int) -> int:
    """The maximum number of memories that pass the stage; for an unlimited turn the maximum pool size."""
    return min(max(limit, 1), MAX_POOL_SIZE)


def blend_score(scored: ScoredEntry, trial: Trial) -> Blend | None:
    """Blend the score of a recalled memory as the rerank stage does; None for a memory without a score.

    Core memories and those with an unreadable time count as new. With the default weights the sum is clamped to 0..1,
    else it is divided by the sum of the weights.
    """
    if scored.score is None:
        return None
    settings, age = trial.settings.rerank, _decay_age(scored.entry, trial)
    importance = scored.entry.importance or 0.0
    parts = (_clamped(scored.score), _clamped(importance), 1.0 if age is None else _decay_factor(age))
    given = (settings.importance_weight, settings.recency_weight)
    if all(abs(one - other) <= _EPSILON for one, other in zip(given, _DEFAULT_WEIGHTS, strict=True)):
        weights = (0.7, *_DEFAULT_WEIGHTS)
        return Blend(*parts, weights, _clamped(_weighed(parts, weights)))
    importance_weight, recency_weight = map(_clamped, given)
    # If the two weights add up to more than 1, the recall's own score has the weight 0.
    weights = (max(1.0 - importance_weight - recency_weight, 0.0), importance_weight, recency_weight)
    return Blend(*parts, weights, _weighed(parts, weights) / (weights[0] + weights[1] + weights[2]))


def _weighed(parts: tuple[float, float, float], weights: tuple[float, float, float]) -> float:
    return parts[0] * weights[0] + parts[1] * weights[1] + parts[2] * weights[2]


def _decay_factor(age_in_days: float) -> float:
    """The factor of time decay, 0..1: one half for each HALF_LIFE_DAYS."""
    return math.exp(-age_in_days / HALF_LIFE_DAYS * math.log(2))


def _rerank(judged: list[ScoredEntry], eligible: Sequence[int], stops: list[Stop | None], trial: Trial) -> list[int]:
    """Set the places or stops of the eligible memories of a pool, and return those that pass, in their new order.

    They are sorted by score, equal ones in the order of recall; duplicates are dropped; MMR reorders if it is enabled;
    memories below the threshold are dropped and take no place; then the first up to the limit pass.
    """
    settings, limit = trial.settings, _final_limit(trial.request.limit)
    rerank = settings.rerank
    candidates = _drop_duplicates(judged, sorted(eligible, key=lambda at: -(judged[at].reranked or 0.0)), stops)
    if rerank.strategy == "mmr" and candidates and len(candidates) >= rerank.threshold:
        candidates = _reorder_by_mmr(judged, candidates, _clamped(rerank.mmr_lambda))
    order: list[int] = []
    place = 0
    for at in candidates:
        score = judged[at].reranked
        if score is not None and score < settings.threshold:
            stops[at] = _below_threshold(judged[at], trial)
            continue
        place += 1
        if place > limit:
            stops[at] = _stop("rerank", f"rank {place:,} of the reranked, and only the first {limit:,} pass")
            continue
        judged[at] = judged[at]._replace(place=place)
        order.append(at)
    return order


def _drop_duplicates(judged: Sequence[ScoredEntry], order: Sequence[int], stops: list[Stop | None]) -> list[int]:
    """Drop duplicates of earlier rows by setting their stops; return the others in this order."""
    remaining: list[int] = []
    seen: dict[str, int] = {}
    different: list[tuple[int, frozenset[tuple[str, ...]]]] = []
    for at in order:
        text = " ".join(_words_of(judged[at].entry)).translate(_ASCII_LOWER)
        earlier = seen.setdefault(text, at)
        if earlier != at:
            stops[at] = _stop("rerank", f"the same text as {judged[earlier].entry.key}")
            continue
        words = text.split(" ")
        # A single word counts as a pair.
        pairs = frozenset(pairwise(words) if len(words) > 1 else [(text,)])
        near = ((other, _jaccard(pairs, known)) for other, known in different)
        found = next(((other, likeness) for other, likeness in near if likeness >= NEAR_DUPLICATE), None)
        if found is None:
            remaining.append(at)
            different.append((at, pairs))
        else:
            stops[at] = _stop("rerank", f"nearly the text of {judged[found[0]].entry.key} ({found[1]:.2f} alike)")
    return remaining


def _reorder_by_mmr(judged: Sequence[ScoredEntry], order: Sequence[int], share: float) -> list[int]:
    """Maximal marginal relevance: the best first, then each time the row with the best score minus its similarity.

    For equal values ZeroClaw takes the last.
    """
    words = {at: frozenset(_words_of(judged[at].entry)) for at in order}
    repeats = dict.fromkeys(order, 0.0)
    taken, remaining = [order[0]], list(order[1:])
    while remaining:
        values: dict[int, float] = {}
        for at in remaining:
            repeats[at] = max(repeats[at], _jaccard(words[taken[-1]], words[at]))
            values[at] = share * (judged[at].reranked or 0.0) - (1.0 - share) * repeats[at]
        best = max(reversed(remaining), key=values.__getitem__)
        remaining.remove(best)
        taken.append(best)
    return taken


def _jaccard(one: frozenset[Any], other: frozenset[Any]) -> float:
    """The Jaccard similarity of two sets; 0 for two empty sets."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def _words_of(entry: MemoryEntry) -> list[str]:
    """Split a content into words at Unicode white space."""
    return [word for word in _BLANKS.split(entry.content) if word]


def _clamped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


# The prompt block.


def context_block(entries: Sequence[ScoredEntry], profile: ScoringProfile, rule: Rule) -> str:
    """Make the literal text of the injected entries before the message; "" if there are none.

    ZeroClaw ends the block with an empty line, from 0.6.3 on preceded by `[/Memory context]`. Before 0.8.3 a turn with
    several session scopes has a block for each, joined by a line feed.
    """
    is_cut = follows_channel_rule(profile, rule)
    end = "[/Memory context]\n\n" if profile.closes_context_block else "\n"
    blocks: dict[int, str] = {}
    for scored in in_prompt_order(entries):
        scope = 0 if profile.joins_scopes else scored.scope
        blocks[scope] = blocks.get(scope, "[Memory context]\n") + prompt_line(scored.entry, is_cut)
    return "\n".join(blocks[scope] + end for scope in sorted(blocks))


def in_prompt_order(entries: Sequence[ScoredEntry]) -> list[ScoredEntry]:
    """Sort the injected entries in the order of the prompt: that of the recall, or of rerank."""
    injected = [scored for scored in entries if scored.injected]
    return sorted(injected, key=lambda scored: scored.place or 0)


def follows_channel_rule(profile: ScoringProfile, rule: Rule) -> bool:
    """Whether the injection rule of the channels applies, with its caps."""
    return rule == "channel" or profile.one_injection_rule


def prompt_line(entry: MemoryEntry, is_cut: bool) -> str:
    """Format the line of a memory in the block; the rule of the channels truncates its content."""
    content = entry.content
    if is_cut and len(content) > MAX_ENTRY_CHARACTERS:
        content = content[:MAX_ENTRY_CHARACTERS].rstrip(WHITE_SPACE) + "..."
    return f"- {entry.key}: {content}\n"


def skip_rules(entry: MemoryEntry, trial: Trial) -> Iterator[Stop]:
    """List every rule on keys and contents that excludes a memory, in ZeroClaw's order."""
    profile, request = trial.profile, trial.request
    by_channel_rule = follows_channel_rule(profile, request.rule)
    key = entry.key.strip(WHITE_SPACE).translate(_ASCII_LOWER)
    content = entry.content
    is_talk = entry.category == "conversation"
    is_scheduled = request.rule == "cron" and profile.skips_conversation_on_schedule
    is_sessionless = profile.skips_sessionless_conversation and {*session_scopes(request)} == {None}
    is_too_long = by_channel_rule and not profile.one_injection_rule and len(content) > MAX_CHARACTERS
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
        (is_too_long, f"longer than {MAX_CHARACTERS:,} characters"),
    )
    yield from (_stop("skip", rule) for applies, rule in skips if applies)


def _saved_as(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}_")


def _is_noise(content: str, profile: ScoringProfile) -> bool:
    head = content.strip(WHITE_SPACE)[:_NOISE_HEAD].translate(_ASCII_LOWER)
    if head.startswith(_NOISE_STARTS):
        return True
    if head.startswith(_OWN_BLOCK) and parse_version(profile.version) >= _OWN_BLOCK_SINCE:
        return True
    return "distilled_index_sig:" in content.lower()


def _decay_age(entry: MemoryEntry, trial: Trial) -> float | None:
    """The age for time decay; None for core memories, which do not decay, and for unreadable times."""
    return None if entry.category == "core" else age_in_days(entry.timestamp, trial.request.as_of)


def age_in_days(timestamp: str, as_of: str) -> float | None:
    """Compute the age for time decay, at least 0; None for a time that ZeroClaw cannot parse.

    Raises UsageError if `as_of` is not a valid time.
    """
    created = zeroclaw_moment(timestamp)
    return None if created is None else max(int((_turn_time(as_of) - created).total_seconds()), 0) / 86_400


def zeroclaw_moment(timestamp: str) -> datetime | None:
    """Parse a time as strictly as ZeroClaw; None if it is not RFC 3339, such as a time without an offset."""
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
            f"{as_of!r} is not a valid time for time decay.", hint="Give one like 2026-08-01T12:00:00+02:00."
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


# The content scanner.

THREATS: Mapping[str, str] = {
    "exfil_curl": "curl with a secret",
    "exfil_wget": "wget with a secret",
    "read_secrets": "a command that reads secrets",
    "send_to_url": "a secret behind an address",
    "agent_config_mod": "a change to the agent's instructions",
    "hardcoded_secret": "a secret in plain text",
    "ssh_backdoor": "SSH keys",
    "ssh_access": "SSH keys",
    "private_key": "a private key",
}
"""The threats that the content scanner of ZeroClaw >= 0.8.4 detects, by its own names, with a description."""
_SECRET_NAMES = "api[_-]?key|secret|token|password|credential"
_SECRET_GATES = ("key", "secret", "token", "password", "credential")
_SECRET_FILES = (".env", ".netrc", ".pgpass", ".npmrc", "id_rsa", "id_ed25519")
_VERB_DISTANCE = 80
# `re` compiles them on first use. All except the private key's are matched against folded text, so they are in lower
# case.
_CURL = r"\bcurl\b"
_WGET = r"\bwget\b"
_SECRET_VARIABLE = r"\$[a-z_]*(?:key|token|secret|password|credential|api)"
_READ_COMMAND = r"\b(?:cat|less|more|tail|head)\b"
_SECRET_FILE = "|".join(map(re.escape, _SECRET_FILES))
_URL = f"https?://[^{WHITE_SPACE}'\"]"
_VERB_OR_INSTRUCTION_FILE = r"\b(?:(?P<verb>write|append|modify|edit|overwrite|replace)|(?:agents|claude)\.md)\b"
_ASSIGNED_SECRET = rf"\b(?:{_SECRET_NAMES})[{WHITE_SPACE}]*+[:=][{WHITE_SPACE}]*+['\"][a-z0-9_./+=-]{{16,}}+['\"]"
_SSH_FOLDER = rf"(?:\$home|~|/root|/home/[^/{WHITE_SPACE}]++)/\.ssh"
_PRIVATE_KEY = "-----BEGIN [A-Z ]*PRIVATE KEY-----"


class _Rule(NamedTuple):
    """One kind of threat. One of the texts in `gates` must occur: a fast check that avoids most pattern matching."""

    kind: str
    gates: tuple[str, ...]
    holds: Callable[[str], bool]
    strict_only: bool = False


def scan(content: str, mode: ScanMode) -> str | None:
    """Find the first kind of threat that ZeroClaw >= 0.8.4 detects in a memory's content, or None.

    Kinds: exfil_curl, exfil_wget, read_secrets, send_to_url, agent_config_mod, hardcoded_secret, with `mode` "strict"
    also ssh_backdoor and ssh_access, then private_key. "off" finds nothing. The time is linear in the length.
    """
    return next(_kinds(content, mode), None)


def scan_all(content: str, mode: ScanMode) -> tuple[str, ...]:
    """Find every kind of threat, in the order of `scan`."""
    return tuple(_kinds(content, mode))


def _kinds(content: str, mode: ScanMode) -> Iterator[str]:
    if mode == "off":
        return
    text = _folded(content)
    for rule in _RULES:
        if rule.strict_only and mode != "strict":
            continue
        if any(gate in text for gate in rule.gates) and rule.holds(text):
            yield rule.kind
    if "PRIVATE KEY-----" in content and re.search(_PRIVATE_KEY, content):
        yield "private_key"


def _folded(content: str) -> str:
    """Lower the case without changing the length, so that distances are preserved.

    The scanner's simple case folding maps the long s to s, and does not change the dotted capital I; `str.lower` does
    the opposite of both.
    """
    if content.isascii():
        return content.lower()
    return content.replace("ſ", "s").replace("\u0130", "\u0131").lower()


def _later_on_the_line(text: str, first: str, then: str) -> bool:
    """Whether `then` occurs after `first` on the same line; each line is searched once."""
    start, end, place = re.compile(first), re.compile(then), 0
    while (found := start.search(text, place)) is not None:
        line_end = text.find("\n", found.end())
        place = len(text) if line_end < 0 else line_end
        if end.search(text, found.end(), place):
            return True
    return False


def _changes_instructions(text: str) -> bool:
    """Whether a verb of change is on the same line as, and at most 80 characters before, an instruction file's name."""
    verb_end: int | None = None
    for found in re.finditer(_VERB_OR_INSTRUCTION_FILE, text):
        if found.lastgroup == "verb":
            verb_end = found.end()
        elif verb_end is not None:
            between = text[verb_end : found.start()] if found.start() - verb_end <= _VERB_DISTANCE else "\n"
            if "\n" not in between:
                return True
    return False


_RULES = (
    _Rule("exfil_curl", ("curl",), lambda text: _later_on_the_line(text, _CURL, _SECRET_VARIABLE)),
    _Rule("exfil_wget", ("wget",), lambda text: _later_on_the_line(text, _WGET, _SECRET_VARIABLE)),
    _Rule("read_secrets", _SECRET_FILES, lambda text: _later_on_the_line(text, _READ_COMMAND, _SECRET_FILE)),
    _Rule("send_to_url", ("://",), lambda text: _later_on_the_line(text, _URL, _SECRET_NAMES)),
    _Rule("agent_config_mod", (".md",), _changes_instructions),
    _Rule("hardcoded_secret", _SECRET_GATES, lambda text: re.search(_ASSIGNED_SECRET, text) is not None),
    _Rule("ssh_backdoor", ("authorized_keys",), lambda text: True, strict_only=True),
    _Rule("ssh_access", ("/.ssh",), lambda text: re.search(_SSH_FOLDER, text) is not None, strict_only=True),
)
