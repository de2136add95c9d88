"""The recall that the options of recall, explain, prompt and evaluate describe: its scope, and other numbers."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from zeroclaw_tui.cli.moments import bound_meant, moment_meant
from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import note
from zeroclaw_tui.config.validation import is_in_range, range_words
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import turn_limit
from zeroclaw_tui.curation.what_if import complaints_of
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.recall import Layer, RecallRequest, Rule
from zeroclaw_tui.memory.text import cut, one_line
from zeroclaw_tui.scoring.settings import RerankSettings, ScoringSettings, Trial, float32
from zeroclaw_tui.scoring.what_if import Setting

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_LONGEST_SHOWN = 40
RERANK_OPTIONS = (
    "rerank", "rerank_strategy", "rerank_threshold", "mmr_lambda", "importance_weight", "recency_weight",
    "candidate_multiplier",
)  # fmt: skip
WHAT_IF_OPTIONS = ("vector_weight", "keyword_weight", "threshold", "search_mode", "day", *RERANK_OPTIONS)
"""The options that try other numbers than config.toml has."""


RULE_WORDS: dict[Rule, str] = {
    "cli": "the CLI agent",
    "channel": "the channels",
    "cron": "cron and heartbeat",
    "library": "the embedded agent",
}
"""Whose turn a rule is."""


def trial_given(library: Library, given: argparse.Namespace, now: datetime, told: set[str] | None = None) -> Trial:
    """The recall of these options; what of the what-if cannot work is told on stderr, unless it is in `told`.

    Without a query among them it is blank; `-` reads it from stdin. Raises WrongUse for what is no number or no moment.
    """
    request = _request(library, given, now)
    trial = Trial(request, library.profile.profile, _settings(library.settings, given))
    limit, turn_limit = request.limits_shown
    if limit != turn_limit and told is None and library.memory.program is None:
        own = f"recalls {turn_limit:,}" if turn_limit else "has no limit"
        note(f"zeroclaw: A limit of {limit:,} is tried; a turn of {RULE_WORDS[request.rule]} {own}.")
    tell_complaints(library, trial, _about(given), set() if told is None else told)
    return trial


def tell_complaints(library: Library, trial: Trial, about: Collection[Setting], told: set[str]) -> None:
    """Say on stderr what of a trial cannot work and is not in `told` yet."""
    for sentence in complaints_of(library, trial, about):
        if sentence not in told:
            told.add(sentence)
            note(f"zeroclaw: {sentence}")


def readable_agents(library: Library, agents: Sequence[str] | None, layer: str) -> tuple[str, ...] | None:
    """The aliases whose memory these agents read: their own and, on the way to an agent, those the config lets in."""
    if agents is None:
        return None
    return library.config.readable_by(agents) if layer == "agent" else tuple(dict.fromkeys(agents))


def _request(library: Library, given: argparse.Namespace, now: datetime) -> RecallRequest:
    layer: Layer = getattr(given, "layer", "agent")
    agents = readable_agents(library, agents_given(given) or None, layer)
    turns = library.memory.recall_limit or turn_limit(library.config, library.profile.profile, given.rule, agents)
    session_id, further = scopes_of(given.session)
    return RecallRequest(
        query=_query(getattr(given, "query", None)),
        limit=turns if given.limit is None else given.limit,
        turn_limit=turns,
        session_id=session_id,
        further_sessions=further,
        agents=agents,
        namespace=given.namespace,
        since=bound_meant(given.since, now) if given.since is not None else None,
        until=bound_meant(given.until, now) if given.until is not None else None,
        layer=layer,
        rule=given.rule,
        as_of=_as_of(given, now),
    )


def scopes_of(sessions: Sequence[str] | None) -> tuple[str | None, tuple[str, ...]]:
    """The session recalled first, and those after it, none twice; a message without any is recalled without one."""
    named = tuple(dict.fromkeys(sessions or ()))
    return (named[0], named[1:]) if named else (None, ())


def _query(given: str | Sequence[str] | None) -> str:
    words = [given] if isinstance(given, str) else list(given or ())
    if words == ["-"]:
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape").rstrip("\r\n")
    return " ".join(words)


def _as_of(given: argparse.Namespace, now: datetime) -> str:
    """The moment time decay counts to, with the days of the what-if on top."""
    as_of = moment_meant(given.as_of, now) if given.as_of is not None else now.isoformat()
    if given.day is None:
        return as_of
    try:
        moment = datetime.fromisoformat(as_of)
        return (moment + timedelta(days=given.day)).isoformat()
    except (OverflowError, ValueError) as error:
        raise WrongUse(f"{given.day:,} days from then are beyond the calendar.", hint="Give fewer days.") from error


def _settings(present: ScoringSettings, given: argparse.Namespace) -> ScoringSettings:
    def number(option: str, otherwise: float) -> float:
        text = getattr(given, option.replace("-", "_"))
        return otherwise if text is None else _number(f"--{option}", text)

    return replace(
        present,
        vector_weight=number("vector-weight", present.vector_weight),
        keyword_weight=number("keyword-weight", present.keyword_weight),
        threshold=number("threshold", present.threshold),
        search_mode=given.search_mode or present.search_mode,
        rerank=_rerank(present.rerank, given, number),
    )


def _rerank(
    present: RerankSettings, given: argparse.Namespace, number: Callable[[str, float], float]
) -> RerankSettings:
    """The rerank stage of these options; another knob than the switch leaves the switch as it is."""
    tried = replace(
        present,
        enabled=present.enabled if given.rerank is None else given.rerank == "on",
        strategy=given.rerank_strategy or present.strategy,
        threshold=present.threshold if given.rerank_threshold is None else given.rerank_threshold,
        mmr_lambda=number("mmr-lambda", present.mmr_lambda),
        importance_weight=number("importance-weight", present.importance_weight),
        recency_weight=number("recency-weight", present.recency_weight),
        candidate_multiplier=given.candidate_multiplier or present.candidate_multiplier,
    )
    for name in ("mmr_lambda", "importance_weight", "recency_weight", "candidate_multiplier"):
        value = getattr(tried, name)
        if getattr(given, name) is not None and not is_in_range(name, value):
            option = name.replace("_", "-")
            raise WrongUse(f"--{option} goes {range_words(name)}, and {value:g} is beyond.")
    return tried


def _number(option: str, text: str) -> float:
    """A finite number from 0 on that ZeroClaw's 32-bit arithmetic can hold."""
    typed = text.strip()
    shown = cut(one_line(typed), _LONGEST_SHOWN)
    if _NUMBER.fullmatch(typed) is None:
        pointed = typed.replace(",", ".")
        hint = f"Did you mean {pointed}?" if _NUMBER.fullmatch(pointed) else "Give one like 0.4."
        raise WrongUse(f'{option} must be a number from 0 on, and "{shown}" is not.', hint=hint)
    value = float(typed)
    if value < 0:
        raise WrongUse(f"{option} must be a number from 0 on, and {shown} is below.", hint="Give one like 0.4.")
    if not math.isfinite(float32(value)):
        raise WrongUse(f"{option} must be a number ZeroClaw can hold, and {shown} is too large.")
    return value


def _about(given: argparse.Namespace) -> set[Setting]:
    """The settings that are other ones than the config's, so that nobody is told what was not asked."""
    about: set[Setting] = set()
    if given.vector_weight is not None or given.keyword_weight is not None:
        about.add("weights")
    if given.threshold is not None:
        about.add("threshold")
    if given.search_mode is not None:
        about.add("mode")
    if any(getattr(given, name) is not None for name in RERANK_OPTIONS):
        about.add("rerank")
    return about
