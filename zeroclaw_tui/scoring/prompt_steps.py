"""The steps of an explanation from the store's answer to the prompt: limit, scanner, threshold, rules, caps."""

from __future__ import annotations

from typing import Any

from zeroclaw_tui.memory.recall import UNLIMITED, Stop
from zeroclaw_tui.memory.text import distinct_numbers, one_line
from zeroclaw_tui.scoring import injection
from zeroclaw_tui.scoring.answer import Record
from zeroclaw_tui.scoring.explanation import HIGHER_LIMIT, NO_HELP, Help, Step, stop_step
from zeroclaw_tui.scoring.injection import HALF_LIFE_DAYS, MOST_CHARACTERS, MOST_ENTRIES, MOST_ENTRY_CHARACTERS
from zeroclaw_tui.scoring.phrases import number, ordinal, shown_name
from zeroclaw_tui.scoring.scanner import THREATS

_ROUNDING = 1e-9
_NEARLY_NOTHING = 0.005
_RENAME, _EDIT, _RECATEGORIZE = ("rename it", "e"), ("edit it", "e"), ("another category", "e")
_SKIPPED: dict[str, tuple[str, Help]] = {
    "assistant reply": ("ZeroClaw skips its own replies (keys that begin with assistant_resp)", _RENAME),
    "user message": ("ZeroClaw skips saved messages (keys that begin with user_msg)", _RENAME),
    "history key": ("ZeroClaw skips histories (keys that end in _history)", _RENAME),
    "same key as one before": (
        "another memory with the same key ranks before it, and ZeroClaw uses only the first", _RENAME,
    ),
    "image": ("ZeroClaw skips content with [IMAGE:", _EDIT),
    "tool result": ("ZeroClaw skips content with <tool_result", _EDIT),
    "auto-save noise": ("ZeroClaw skips content that looks like its own records", _EDIT),
    "empty content": ("its content is blank", _EDIT),
    "conversation on a scheduled turn": ("cron and heartbeat do not get conversation memories", _RECATEGORIZE),
    "conversation without a session": (
        "it is a conversation memory, and the message has no session", ("recall in a session", "w"),
    ),
}  # fmt: skip


def limit_step(record: Record, stops: bool) -> Step | None:
    """Its rank among what is recalled."""
    rank, limit = record.rank, injection.pool_size(record.trial)
    for_rerank = " for rerank" if record.trial.reranks else ""
    if stops:
        place = f"ranked {ordinal(rank)}" if rank is not None else "ranked behind what is recalled"
        first = "first is" if limit == 1 else f"first {limit:,} are"
        words = f"{place}, and only the {first} recalled{for_rerank}"
        return stop_step("limit", words, HIGHER_LIMIT, rank=rank, limit=limit)
    if rank is None:
        return None
    what = f"the first {limit:,} are recalled" if limit < UNLIMITED else "everything found is recalled"
    return Step("limit", "passed", f"rank {rank:,}, and {what}{for_rerank}", {"rank": rank, "limit": limit})


def rerank_step(record: Record, stops: bool) -> Step | None:
    """What the rerank stage makes of its score, and the place it gives it."""
    judged = record.judged
    if judged is None:
        return None
    blend = injection.blend_of(judged, record.trial)
    blended = "without a score there is nothing to blend"
    numbers: dict[str, Any] = {"score": None}
    if blend is not None:
        named = {"": blend.relevance, "importance ": blend.importance, "recency ": blend.recency}
        terms = " + ".join(
            f"{name}{number(part)} × {weight:g}"
            for (name, part), weight in zip(named.items(), blend.weights, strict=True)
        )
        total = sum(blend.weights)
        # Weights that do not add up to 1 are divided by their sum.
        terms = terms if abs(total - 1) < _ROUNDING else f"({terms}) / {total:g}"
        blended = f"{terms} = {number(blend.score)}"
        numbers = {"score": blend.relevance, "importance": blend.importance, "recency": blend.recency}
        numbers |= {"weights": list(blend.weights), "reranked": blend.score}
    numbers["place"] = judged.place
    if stops:
        words = f"{one_line(record.stop.rule)} · {blended}"
        return stop_step("rerank", words, ("other numbers for rerank", "w"), **numbers)
    place = f" · {ordinal(judged.place)} after rerank" if judged.place is not None else ""
    return Step("rerank", "passed", f"{blended}{place}", numbers)


def scanner_step(record: Record, stops: bool) -> Step | None:
    """What the content scanner sees in it, where one is between store and agent."""
    candidate, trial = record.candidate, record.trial
    if stops:
        kind = (candidate.withheld if candidate is not None else None) or record.entry.withheld or ""
        if kind not in THREATS:
            return stop_step("scanner", f"withheld from the agent: {shown_name(kind)}", kind=kind)
        words = f"withheld from the agent as {kind}: it looks like {THREATS[kind]}"
        return stop_step("scanner", words, ("edit it, or threat_scan in config.toml", "e"), kind=kind)
    is_scanned = trial.profile.scans_content and trial.request.layer == "agent"
    if not is_scanned or record.judged is None:
        return None
    is_off = trial.settings.threat_scan == "off"
    return Step("scanner", "passed", "switched off" if is_off else "nothing in it looks like an attack")


def decay_step(record: Record, stops: bool) -> Step | None:
    """The score after time, where this version and rule decay."""
    judged, entry = record.judged, record.entry
    if judged is None or judged.score is None or judged.decayed is None:
        return None
    age = injection.age_in_days(entry.timestamp, record.trial.request.as_of)
    if entry.category == "core":
        words = "core memories do not fade"
    elif age is None:
        words = "its time cannot be read, so it does not fade"
    else:
        faded = "0.00" if 0 <= judged.decayed < _NEARLY_NOTHING else number(judged.decayed)
        words = f"{number(judged.score)} × 2^(-{age:,.1f} d / {HALF_LIFE_DAYS:g} d) = {faded}"
    return Step("decay", "passed", words, {"score": judged.score, "age_days": age, "decayed": judged.decayed})


def threshold_step(record: Record, stops: bool) -> Step:
    """The number that is compared with the threshold."""
    score, threshold = record.compared_score, record.trial.settings.threshold
    numbers = {"score": score, "threshold": threshold}
    if not stops:
        shown = distinct_numbers(score or 0.0, threshold)
        words = "without a score it always passes" if score is None else f"{shown[0]} ≥ {shown[1]}"
        return Step("threshold", "passed", words, numbers)
    candidate = record.candidate
    would_pass = candidate is not None and (candidate.score or 0.0) >= threshold
    is_weighed = record.merged
    helps = ("a lower threshold, or other weights" if is_weighed else "a lower threshold", "w")
    if record.has_faded and would_pass:
        helps = ("the category core, which does not fade", "e")
    return stop_step("threshold", " < ".join(below_threshold(record)), helps, **numbers)


def below_threshold(record: Record) -> tuple[str, str]:
    """The compared score and the threshold, with decimals that show which is smaller."""
    score = record.compared_score or 0.0
    shown, limit = distinct_numbers(score, record.trial.settings.threshold)
    return (number(score) if shown == "0.00" and not record.has_faded else shown), limit


def skip_step(record: Record, stops: bool) -> Step | None:
    """Whether a rule of ZeroClaw skips it."""
    if stops:
        return skip_stop(record, record.stop)
    # The caps are looked at before these rules.
    return None if record.stopped_at == "cap" else Step("skip", "passed", "no skip rule applies")


def skip_stop(record: Record, stop: Stop) -> Step:
    """The rule that skips it, and what helps."""
    words, helps = _SKIPPED.get(stop.rule, (shown_name(stop.rule), _EDIT))
    if stop.rule == "conversation without a session" and record.entry.session_id is None:
        # A session's recall would leave it out in turn, since it has none.
        helps = _RECATEGORIZE
    return stop_step("skip", words, helps, rule=stop.rule)


def cap_step(record: Record, stops: bool) -> Step | None:
    """How much of the prompt is used with it."""
    request, profile, place = record.trial.request, record.trial.profile, record.place
    if stops:
        words = f"{MOST_ENTRIES} memories rank before it, and ZeroClaw injects no more"
        if record.stop.rule == "characters":
            words = f"it does not fit in the {MOST_CHARACTERS:,} characters that ZeroClaw puts before a message"
        is_weighed = record.merged
        helps = ("other weights that rank it higher", "w") if is_weighed else NO_HELP
        return stop_step("cap", words, helps, most_entries=MOST_ENTRIES)
    if place is None or not injection.follows_channel_rule(profile, request.rule):
        return None
    before = [scored for scored in record.answer.results if scored.injected][:place]
    used = injection.characters_used(before, profile, request.rule)
    words = f"entry {place} of at most {MOST_ENTRIES}, {used:,} of {MOST_CHARACTERS:,} characters used"
    length = len(record.entry.content)
    if length > MOST_ENTRY_CHARACTERS:
        words += f"; only its first {MOST_ENTRY_CHARACTERS:,} of {length:,} characters are injected"
    numbers = {
        "entry": place,
        "most_entries": MOST_ENTRIES,
        "characters": used,
        "most_characters": MOST_CHARACTERS,
    }
    return Step("cap", "passed", words, numbers)


def prompt_step(record: Record, stops: bool) -> Step:
    """Its place in the prompt."""
    place, of = record.place, record.injected
    return Step("prompt", "passed", f"entry {place} of {of}", {"place": place, "of": of})
