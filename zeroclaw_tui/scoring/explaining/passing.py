"""The stages from what is recalled to the prompt, in words: limit, scanner, decay, threshold, skip rules, caps."""

from __future__ import annotations

import math

from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.explaining.step import Step, Told
from zeroclaw_tui.scoring.explaining.text import name, number, ordinal, told_apart
from zeroclaw_tui.scoring.injection import (
    HALF_LIFE_DAYS,
    MOST_CHARACTERS,
    MOST_ENTRIES,
    MOST_ENTRY_CHARACTERS,
    RECALL_LIMIT,
    age_in_days,
    characters_used,
)

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


def limit_step(told: Told) -> Step | None:
    """Its rank among what is recalled."""
    rank, limit = told.way.rank, told.trial.request.limit
    if rank is None:
        return None
    return Step(
        "limit", "passed", f"rank {rank:,}, and the first {limit:,} are recalled", {"rank": rank, "limit": limit}
    )


def limit_stop(told: Told) -> Step:
    """Behind what is recalled, or behind the five of one message."""
    rank, limit = told.way.rank, told.trial.request.limit
    numbers = {"rank": rank, "limit": min(limit, RECALL_LIMIT) if _is_over_five(told) else limit}
    if _is_over_five(told):
        place = f"ranked {ordinal(rank)}" if rank is not None else "ranked behind"
        return Step(
            "limit",
            "stopped",
            f"{place}, and ZeroClaw recalls only {RECALL_LIMIT} for a message",
            numbers,
            *_to_rank_higher(told),
        )
    place = f"ranked {ordinal(rank)}" if rank is not None else "ranked behind what is recalled"
    words = f"{place}, and only the first{f' {limit:,}' if limit != 1 else ''} {'is' if limit == 1 else 'are'} recalled"
    is_enough = rank is not None and limit < rank <= RECALL_LIMIT
    return Step(
        "limit", "stopped", words, numbers, *((f"a limit of {rank:,}", "w") if is_enough else _to_rank_higher(told))
    )


def _to_rank_higher(told: Told) -> tuple[str, str]:
    """What ranks it before others, and the key for it."""
    if told.is_weighed:
        return "other weights that rank it higher", "w"
    return ("", "") if told.recall.own_rule == "qdrant" else ("edit it to have more of the message's words", "e")


def _is_over_five(told: Told) -> bool:
    return (told.way.judged is not None) and (told.way.judged.not_injected_because or "").startswith("limit:")


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
    return judged.score if judged.decayed is None else judged.decayed


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
