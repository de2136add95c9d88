"""The settings a recall can be tried with: where a trial has them, what config.toml calls them, and their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

from zeroclaw_tui.config.schema import MEMORY_KEYS
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.recall import RecallRequest, Rule
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.injection import RECALL_LIMIT
from zeroclaw_tui.scoring.profiles import LANDMARKS, Trial, parse_version, profile_for
from zeroclaw_tui.scoring.what_if import Subject

_MOST_RECALLED = 100
"""How many memories a trial recalls at most; ZeroClaw recalls 5 for a message."""
RULES: dict[Rule, str] = {"cli": "CLI", "channel": "channels", "cron": "cron", "library": "embedded"}
_DECIMALS = 6
_LARGEST = 1_000_000
"""The largest number that a setting without an upper bound may have."""


class Tried(NamedTuple):
    """A recall as it is, and as it is tried. `embedded_limit` is how many memories an embedded agent recalls."""

    before: Trial
    now: Trial
    embedded_limit: int

    def over(self, before: Trial) -> Tried:
        """The same changes over another recall of the store: another message, or newly written memories."""
        tried = Tried(before, before, self.embedded_limit)
        for setting in self.changed:
            tried = setting.put(tried, setting.get(self.now))
        return tried

    @property
    def changed(self) -> tuple[Setting, ...]:
        """The modified settings."""
        # As texts, because what is no number is not equal to itself.
        return tuple(one for one in SETTINGS if repr(one.get(self.now)) != repr(one.get(self.before)))

    @property
    def changed_words(self) -> str:
        """The modified settings in a few words: "threshold 0.31, limit 6"; empty without any."""
        return ", ".join(f"{setting.name} {setting.words(setting.get(self.now))}" for setting in self.changed)


class Range(NamedTuple):
    """The numbers a setting may have; `step` is what a key adds."""

    step: float
    least: float
    most: float
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a trial: a number with a `range`, or one of a few words in the order a key goes through them.

    `path` names the attribute of a trial, and `key` the setting under [memory] in config.toml, "" where there is none.
    `subject` is what complaints about it are about. `choices` are made of what is tried and of the sessions of the
    store; `shown` gives the words for a value. `put_into` is for a value that comes with others.
    """

    name: str
    path: str
    about: str
    range: Range | None = None
    key: str = ""
    subject: Subject = "rerank"
    choices: Callable[[Tried, Sequence[str]], Sequence[Any]] = lambda tried, sessions: ()
    shown: Callable[[Any], str] = str
    put_into: Callable[[Tried, Any], Trial] | None = None

    def get(self, trial: Trial) -> Any:
        """The value in a trial."""
        return attrgetter(self.path)(trial)

    def put(self, tried: Tried, value: Any) -> Tried:
        """The same with another value to try."""
        if self.put_into is not None:
            return tried._replace(now=self.put_into(tried, value))
        return tried._replace(now=_with(tried.now, self.path.split("."), value))

    def words(self, value: Any) -> str:
        """A value as a person reads it: numbers with two decimals, or more where they have more."""
        if self.range is None:
            return one_line(self.shown(value))
        if self.range.is_whole:
            return f"{value:,}"
        short = f"{value:.2f}"
        return short if not math.isfinite(value) or float(short) == value else f"{value:.{_DECIMALS}g}"

    def moved(self, tried: Tried, way: int, sessions: Sequence[str]) -> Tried:
        """A step up or down, or the next word or the one before; the ends are ends."""
        value, limits = self.get(tried.now), self.range
        if limits is None:
            choices = list(self.choices(tried, sessions))
            return self.put(tried, choices[min(len(choices) - 1, max(0, choices.index(value) + way))])
        wanted = value + way * limits.step
        value = min(limits.most, max(limits.least, round(wanted, _DECIMALS))) if math.isfinite(wanted) else limits.least
        return self.put(tried, int(value) if limits.is_whole else value)

    def parsed(self, text: str) -> float:
        """Exactly the typed number. Raises UsageError for one that the setting does not take."""
        assert self.range is not None
        try:
            value = int(text) if self.range.is_whole else float(text)
        except ValueError:
            raise UsageError(f"{one_line(text)} is not a number.", hint=self.takes) from None
        if not self.range.least <= value <= self.range.most:
            raise UsageError(f"The {self.name} is {self.takes}.")
        return value

    @property
    def takes(self) -> str:
        """Which numbers it takes."""
        assert self.range is not None
        return f"a number from {self.range.least:g} to {self.range.most:,.0f}"


def _with(part: Any, path: Sequence[str], value: Any) -> Any:
    """A trial or a part of it, with another value at a path of attributes."""
    name, *rest = path
    changes = {name: _with(getattr(part, name), rest, value) if rest else value}
    return replace(part, **changes) if isinstance(part, RecallRequest) else part._replace(**changes)


def _with_rule(tried: Tried, rule: Rule) -> Trial:
    """A turn of this kind; the embedded agent may have a limit of its own."""
    request, limit = tried.now.request, tried.embedded_limit if rule == "library" else RECALL_LIMIT
    is_tried = request.limit != request.turn_limit
    request = replace(request, rule=rule, turn_limit=limit, limit=request.limit if is_tried else limit)
    return tried.now._replace(request=request)


def _versions(tried: Tried, sessions: Sequence[str]) -> Sequence[str]:
    """A version of each set of rules, and those in use, oldest first."""
    return sorted({*LANDMARKS, tried.before.profile.version, tried.now.profile.version}, key=parse_version)


def _session_choices(tried: Tried, sessions: Sequence[str]) -> Sequence[str | None]:
    own = [tried.before.request.session_id, tried.now.request.session_id]
    return [None, *dict.fromkeys([*(one for one in own if one and one not in sessions), *sessions])]


def _of_config(name: str, path: str, key: str, subject: Subject = "rerank") -> Setting:
    """A setting that config.toml has: its range, its words and its help are those of the table of settings."""
    known = MEMORY_KEYS[key]
    choices = (False, True) if known.kind == "switch" else known.choices
    is_whole, (least, most) = known.kind == "count", known.bounds(None)
    numbers = Range(1 if is_whole else 0.05, max(0, least), min(most, _LARGEST), is_whole)
    return Setting(
        name,
        path,
        known.about,
        None if choices else numbers,
        key,
        subject,
        choices=lambda tried, sessions: choices,
        shown=lambda value: {True: "on", False: "off"}.get(value, str(value)),
    )


SETTINGS: tuple[Setting, ...] = (
    _of_config("vector weight", "settings.vector_weight", "vector_weight", "weights"),
    _of_config("keyword weight", "settings.keyword_weight", "keyword_weight", "weights"),
    _of_config("threshold", "settings.threshold", "min_relevance_score", "threshold"),
    _of_config("search mode", "settings.search_mode", "search_mode", "mode"),
    Setting("limit", "request.limit",
            "How many memories are recalled. ZeroClaw uses 5, unless an embedded agent's profile sets another.",
            Range(1, 1, _MOST_RECALLED, True)),
    Setting("scoring profile", "profile.version",
            "The ZeroClaw version whose scoring rules apply. Press enter to see all.", choices=_versions,
            put_into=lambda tried, version: tried.now._replace(profile=profile_for(version))),
    Setting("session", "request.session_id",
            "Only memories of this session are recalled. Press enter to see all.",
            choices=_session_choices, shown=lambda value: "any" if value is None else str(value)),
    Setting("injection rule", "request.rule",
            "Which agent recalls: the CLI agent, a channel (Telegram, …), cron, or the embedded agent.",
            choices=lambda tried, sessions: tuple(RULES), shown=lambda rule: RULES[rule], put_into=_with_rule),
    _of_config("rerank", "settings.rerank.enabled", "rerank_enabled"),
    _of_config("rerank strategy", "settings.rerank.strategy", "rerank_strategy"),
    _of_config("mmr lambda", "settings.rerank.mmr_lambda", "mmr_lambda"),
    _of_config("mmr from", "settings.rerank.threshold", "rerank_threshold"),
    _of_config("importance", "settings.rerank.importance_weight", "importance_weight"),
    _of_config("recency", "settings.rerank.recency_weight", "recency_weight"),
    _of_config("candidates", "settings.rerank.candidate_multiplier", "candidate_multiplier"),
)  # fmt: skip
"""Every setting of a trial, in the order they are on the screen."""
WRITTEN: Mapping[str, Setting] = {f"memory.{one.key}": one for one in SETTINGS if one.key}
"""The settings of config.toml that a recall can be tried with, by name."""


def with_values(trial: Trial, values: Mapping[str, Any]) -> Trial:
    """The trial with other values of settings of config.toml, by name."""
    for name, value in values.items():
        trial = _with(trial, WRITTEN[name].path.split("."), value)
    return trial
