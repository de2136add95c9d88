"""The stages from what is recalled to the prompt, in words: limit, scanner, decay, threshold, skip rules, caps."""

from __future__ import annotations

import math

from zeroclaw_tui.memory.recall import UNLIMITED, ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.explaining.step import Step, Told
from zeroclaw_tui.scoring.explaining.text import LONGEST_NAME, name, number, ordinal, told_apart
from zeroclaw_tui.scoring.injection import (
    MOST_CHARACTERS,
    MOST_ENTRIES,
    MOST_ENTRY_CHARACTERS,
    RECALL_LIMIT,
    age_in_days,
    characters_used,
)
from zeroclaw_tui.scoring.rerank import HALF_LIFE_DAYS

_SKIPPED = {
    "assistant reply": (
        "its key begins with assistant_resp: ZeroClaw leaves its own replies out",
        "rename it",
        "e",
    ),
    "user message": ("its key begins with user_msg: ZeroClaw leaves saved messages out", "rename it", "e"),
    "history key": ("its key ends in _history: ZeroClaw leaves histories out", "rename it", "e"),
    "image": ("it holds [IMAGE:, which ZeroClaw leaves out", "edit it", "e"),
    "tool result": ("it holds <tool_result, which ZeroClaw leaves out", "edit it", "e"),
    "auto-save noise": ("ZeroClaw takes its content for what it saved of itself, and leaves it out", "edit it", "e"),
    "empty content": ("its content is blank", "edit it", "e"),
    "conversation on a scheduled turn": ("conversation, which cron and heartbeat do not get", "another category", "e"),
    "conversation without a session": ("conversation, and the message comes without a session", "recall in one", "w"),
}
_FLAGGED = {
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
_SHOWN_AS_0 = 0.005
_ROUNDING = 1e-9


def limit_step(told: Told) -> Step | None:
    """Its rank among what is recalled."""
    rank, limit = told.way.rank, _recalled(told)
    if rank is None:
        return None
    what = f"and the first {limit:,} are recalled" if limit < UNLIMITED else "and everything found is recalled"
    words = f"rank {rank:,}, {what}{_for_rerank(told)}"
    return Step("limit", "passed", words, {"rank": rank, "limit": limit})


def limit_stop(told: Told) -> Step:
    """Behind what is recalled."""
    rank, limit = told.way.rank, _recalled(told)
    place = f"ranked {ordinal(rank)}" if rank is not None else "ranked behind what is recalled"
    words = f"{place}, and only the first{f' {limit:,}' if limit != 1 else ''} {'is' if limit == 1 else 'are'} recalled"
    is_enough = rank is not None and limit < rank <= RECALL_LIMIT
    helps = (f"a limit of {rank:,}", "w") if is_enough else _to_rank_higher(told)
    return Step("limit", "stopped", words + _for_rerank(told), {"rank": rank, "limit": limit}, *helps)


def _recalled(told: Told) -> int:
    return told.way.recalled or told.trial.request.limit


def _for_rerank(told: Told) -> str:
    return " for rerank" if told.trial.reranks else ""


def rerank_step(told: Told) -> Step | None:
    """What the rerank stage makes of its score, and the place it gives it; None where it does not come so far."""
    judged = told.way.judged
    if judged is None:
        return None
    place = f" · handed on {ordinal(judged.place)}" if judged.place is not None else ""
    return Step("rerank", "passed", f"{_blended(told)}{place}", _blend_numbers(told))


def rerank_stop(told: Told) -> Step:
    """A double of a memory before it, or behind what is handed on."""
    because = (told.way.judged.not_injected_because if told.way.judged is not None else None) or ""
    words = name(because.removeprefix("rerank: ")) if len(because) < LONGEST_NAME else one_line(because)[8:]
    return Step(
        "rerank", "stopped", f"{words} · {_blended(told)}", _blend_numbers(told), "other numbers for rerank", "w"
    )


def _blended(told: Told) -> str:
    """The blend with its numbers put in; weights that do not add up to 1 are divided by their sum."""
    blend = told.way.blend
    if blend is None:
        return "without a score there is nothing to blend"
    parts = (blend.relevance, blend.importance, blend.recency)
    terms = " + ".join(
        f"{what}{number(part)} × {weight:g}"
        for what, part, weight in zip(("", "importance ", "recency "), parts, blend.weights, strict=True)
    )
    total = sum(blend.weights)
    return (
        f"({terms}) / {total:g} = {number(blend.score)}"
        if abs(total - 1) > _ROUNDING
        else f"{terms} = {number(blend.score)}"
    )


def _blend_numbers(told: Told) -> dict[str, object]:
    blend, judged = told.way.blend, told.way.judged
    if blend is None or judged is None:
        return {"score": None, "place": None if judged is None else judged.place}
    return {
        "score": blend.relevance,
        "importance": blend.importance,
        "recency": blend.recency,
        "weights": list(blend.weights),
        "reranked": blend.score,
        "place": judged.place,
    }


def _to_rank_higher(told: Told) -> tuple[str, str]:
    """What ranks it before others, and the key for it."""
    if told.is_weighed:
        return "other weights that rank it higher", "w"
    return ("", "") if told.recall.own_rule == "qdrant" else ("edit it to have more of the message's words", "e")


def scanner_step(told: Told) -> Step | None:
    """The content scanner saw nothing; None where there is none, or where the memory does not come so far."""
    if not told.is_scanned or told.way.judged is None:
        return None
    if told.trial.settings.threat_scan == "off":
        return Step("scanner", "passed", "switched off")
    return Step("scanner", "passed", "nothing in it looks like an attack")


def scanner_stop(told: Told) -> Step:
    """What withholds it from the agent."""
    kind = (told.way.judged.withheld if told.way.judged is not None else None) or told.way.entry.withheld or ""
    if kind in _FLAGGED:
        words = f"withheld from the agent as {kind}: it looks like {_FLAGGED[kind]}"
        return Step("scanner", "stopped", words, {"kind": kind}, "edit it, or threat_scan in config.toml", "e")
    return Step("scanner", "stopped", f"withheld from the agent: {name(kind)}", {"kind": kind})


def decay_step(told: Told) -> Step | None:
    """The score after time; None where this version and rule do not decay, or where there is no score."""
    judged = told.way.judged
    if judged is None or judged.score is None or judged.decayed is None:
        return None
    entry = told.way.entry
    age = age_in_days(entry.timestamp, told.trial.request.as_of)
    numbers = {"score": judged.score, "age_days": age, "decayed": judged.decayed}
    if entry.category == "core":
        return Step("decay", "passed", "core memories do not fade", numbers)
    if age is None:
        return Step("decay", "passed", "its time cannot be read, so it does not fade", numbers)
    days = f"{age:,.1f}"
    words = f"{number(judged.score)} × 2^(-{days} d / {HALF_LIFE_DAYS:g} d) = {faded(judged.decayed)}"
    return Step("decay", "passed", words, numbers)


def threshold_step(told: Told) -> Step:
    """The number held against the threshold, which it reaches."""
    held, threshold = _held(told), told.trial.settings.threshold
    numbers = {"score": held, "threshold": threshold}
    if held is None:
        return Step("threshold", "passed", "without a score it always passes", numbers)
    shown = told_apart(held, threshold)
    return Step("threshold", "passed", f"{shown[0]} ≥ {shown[1]}", numbers)


def threshold_stop(told: Told) -> Step:
    """The score does not reach it."""
    held, threshold = _held(told) or 0.0, told.trial.settings.threshold
    shown = told_apart(held, threshold)
    numbers = {"score": held, "threshold": threshold}
    words = f"{shown[0]} < {shown[1]}"
    if has_faded(told):
        words = f"{faded(held)} < {number(threshold)}" if held < _SHOWN_AS_0 <= threshold else words
        if told.way.judged is not None and (told.way.judged.score or 0.0) >= threshold:
            return Step("threshold", "stopped", words, numbers, "the category core, which does not fade", "e")
    low = _just_under(held)
    ways = ([f"a threshold of {low}"] if low != "0.00" else []) + (["other weights"] if told.is_weighed else [])
    return Step("threshold", "stopped", words, numbers, ", or ".join(ways) or "a threshold of 0", "w")


def has_faded(told: Told) -> bool:
    """Whether its age alone keeps it under the threshold, or under half of what it was."""
    judged = told.way.judged
    if judged is None or judged.score is None or judged.decayed is None:
        return False
    return judged.decayed < told.trial.settings.threshold and judged.decayed < judged.score / 2


def faded(value: float) -> str:
    """A score after time: what is all but gone is 0.00."""
    return "0.00" if 0 <= value < _SHOWN_AS_0 else number(value)


def _held(told: Told) -> float | None:
    judged: ScoredEntry | None = told.way.judged
    if judged is None:
        return told.way.fused_score
    return judged.held


def _just_under(score: float) -> str:
    """A threshold with two decimals that this score reaches."""
    return f"{math.floor(score * 100) / 100:.2f}" if math.isfinite(score) else "0.00"


def skip_step(told: Told) -> Step:
    """No rule on keys and contents leaves it out."""
    return Step("skip", "passed", "no rule on keys or contents leaves it out")


def skip_stop(told: Told) -> Step:
    """The rule on keys or contents that leaves it out."""
    because = (told.way.judged.not_injected_because if told.way.judged is not None else None) or ""
    what = because.removeprefix("skipped: ")
    words, helps, key = _SKIPPED.get(what, (name(what), "edit it", "e"))
    if what == "conversation without a session" and told.way.entry.session_id is None:
        # A session's recall would leave it out in turn, since it has none.
        helps, key = "another category", "e"
    return Step("skip", "stopped", words, {"rule": what}, helps, key)


def cap_step(told: Told) -> Step | None:
    """How much of the prompt is used with it; None where nothing is capped."""
    if not _is_capped(told) or told.way.place is None:
        return None
    place, used = told.way.place, _characters(told)
    words = f"entry {place} of at most {MOST_ENTRIES}"
    numbers: dict[str, int | None] = {"entry": place, "most_entries": MOST_ENTRIES}
    if used is not None:
        words += f", {used:,} of {MOST_CHARACTERS:,} characters used"
        numbers |= {"characters": used, "most_characters": MOST_CHARACTERS}
    length = len(told.way.entry.content)
    if length > MOST_ENTRY_CHARACTERS:
        words += f"; only its first {MOST_ENTRY_CHARACTERS:,} of {length:,} characters go in"
    return Step("cap", "passed", words, numbers)


def cap_stop(told: Told) -> Step:
    """The prompt is full before it."""
    because = (told.way.judged.not_injected_because if told.way.judged is not None else None) or ""
    if "characters" in because:
        words = f"the {MOST_CHARACTERS:,} characters that ZeroClaw puts before a message do not hold it too"
    else:
        words = f"{MOST_ENTRIES} memories ranked before it are in, and ZeroClaw takes no more"
    return Step("cap", "stopped", words, {"most_entries": MOST_ENTRIES}, *_to_rank_higher(told))


def prompt_step(told: Told) -> Step:
    """Its place in the prompt."""
    place, of = told.way.place, told.way.injected
    return Step("prompt", "passed", f"entry {place} of {of}", {"place": place, "of": of})


def _is_capped(told: Told) -> bool:
    return told.trial.request.rule == "channel" or told.trial.profile.one_injection_rule


def _characters(told: Told) -> int | None:
    """How many characters the lines up to and with this one take; None where the answer is not known."""
    place = told.way.place or 0
    before = [scored for scored in told.recall.results if scored.injected][:place]
    if len(before) < place:
        return None
    return characters_used(before, told.trial.profile, told.trial.request.rule)
