"""The settings that a trial recall can change: their attributes and values, and how to save them to config.toml."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import command_at
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, OPTION, MemoryConfig
from zeroclaw_tui.config.save import compare_configs, save_config
from zeroclaw_tui.config.schema import MEMORY_KEYS, NEWEST_MODERN, NEWEST_OLD, version_numbers
from zeroclaw_tui.config.setting_names import check_setting
from zeroclaw_tui.config.toml import KeyPath, read_config
from zeroclaw_tui.curation.library import Library, scoring_settings
from zeroclaw_tui.memory.errors import BrokenConfig, Refused, UsageError
from zeroclaw_tui.memory.recall import RecallRequest, Rule
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.injection import RECALL_LIMIT
from zeroclaw_tui.scoring.profiles import LANDMARKS, Trial, parse_version, profile_for
from zeroclaw_tui.scoring.stages import session_scopes
from zeroclaw_tui.scoring.what_if import ALL_SUBJECTS, Subject, setting_problems

RULES: dict[Rule, str] = {"cli": "CLI", "channel": "channels", "cron": "cron", "library": "embedded"}
_MOST_RECALLED = 100
"""The maximum number of memories that a trial recalls; ZeroClaw recalls 5 for a message."""
_DECIMALS = 6
_LARGEST = 1_000_000
"""The maximum for settings without an upper bound."""
_SUBJECTS: Mapping[str, Subject] = {
    "vector_weight": "weights", "keyword_weight": "weights", "min_relevance_score": "threshold", "search_mode": "mode",
}  # fmt: skip


class TriedSettings(NamedTuple):
    """A recall before and with the tried changes. `embedded_limit` is how many memories an embedded agent recalls."""

    before: Trial
    now: Trial
    embedded_limit: int

    def applied_to(self, before: Trial) -> TriedSettings:
        """Apply the same changes to another recall of the store: another message, or newly written memories."""
        tried = TriedSettings(before, before, self.embedded_limit)
        for setting in self.changed:
            tried = setting.with_value(tried, setting.get(self.now))
        return tried

    @property
    def changed(self) -> tuple[TrialSetting, ...]:
        # Compared as text, because NaN is not equal to itself.
        return tuple(setting for setting in SETTINGS if repr(setting.get(self.now)) != repr(setting.get(self.before)))

    @property
    def changes_text(self) -> str:
        """The modified settings in a few words: "threshold 0.31, limit 6"; "" if there are none."""
        return ", ".join(f"{setting.name} {setting.words(setting.get(self.now))}" for setting in self.changed)


class Range(NamedTuple):
    """The valid numbers of a setting; `step` is the change per key press."""

    step: float
    least: float
    most: float
    is_whole: bool = False


class TrialSetting(NamedTuple):
    """A setting of a trial: a number with a `range`, or one of a few values, some shown to people by their `labels`.

    `path` is the attribute of a trial, and `key` the setting under [memory] in config.toml, "" if there is none.
    """

    name: str
    path: str
    about: str
    range: Range | None = None
    key: str = ""
    labels: Mapping[Any, str] = MappingProxyType({})

    @property
    def subject(self) -> Subject:
        """The subject of complaints about this setting."""
        return _SUBJECTS.get(self.key, "rerank")

    def choices(self, tried: TriedSettings, sessions: Sequence[str]) -> Sequence[Any]:
        """The values of a setting without a range, in the order of the keys; `sessions` are those of the store."""
        before, now = tried.before, tried.now
        if self.path == "profile.version":
            return sorted({*LANDMARKS, before.profile.version, now.profile.version}, key=parse_version)
        if self.path == "request.session_id":
            own = [one for one in (before.request.session_id, now.request.session_id) if one and one not in sessions]
            return [None, *dict.fromkeys([*own, *sessions])]
        return tuple(self.labels)

    def get(self, trial: Trial) -> Any:
        return attrgetter(self.path)(trial)

    def with_value(self, tried: TriedSettings, value: Any) -> TriedSettings:
        """Set a value to try; another injection rule also changes the limit, unless a limit is being tried."""
        if self.path == "profile.version":
            return tried._replace(now=tried.now._replace(profile=profile_for(value)))
        now = _replace_at(tried.now, self.path.split("."), value)
        if self.path == "request.rule":
            request, limit = now.request, tried.embedded_limit if value == "library" else RECALL_LIMIT
            is_tried = request.limit != request.turn_limit
            request = replace(request, turn_limit=limit, limit=request.limit if is_tried else limit)
            now = now._replace(request=request)
        return tried._replace(now=now)

    def words(self, value: Any) -> str:
        """A value as shown to people: numbers with two decimals, or more if needed."""
        if self.range is None:
            return one_line(self.labels.get(value, "any" if value is None else str(value)))
        if self.range.is_whole:
            return f"{value:,}"
        short = f"{value:.2f}"
        return short if not math.isfinite(value) or float(short) == value else f"{value:.{_DECIMALS}g}"

    def stepped(self, tried: TriedSettings, way: int, sessions: Sequence[str]) -> TriedSettings:
        """Move one step or choice up or down, without wrapping around."""
        value, limits = self.get(tried.now), self.range
        if limits is None:
            choices = list(self.choices(tried, sessions))
            return self.with_value(tried, choices[min(len(choices) - 1, max(0, choices.index(value) + way))])
        moved = value + way * limits.step
        value = min(limits.most, max(limits.least, round(moved, _DECIMALS))) if math.isfinite(moved) else limits.least
        return self.with_value(tried, int(value) if limits.is_whole else value)

    def parse(self, text: str) -> float:
        """Parse a typed number exactly. Raises UsageError for a number outside the range."""
        assert self.range is not None
        try:
            value = int(text) if self.range.is_whole else float(text)
        except ValueError:
            raise UsageError(f"{one_line(text)} is not a number.", hint=self.valid_range) from None
        if not self.range.least <= value <= self.range.most:
            raise UsageError(f"The {self.name} is {self.valid_range}.")
        return value

    @property
    def valid_range(self) -> str:
        """Say which numbers are valid."""
        assert self.range is not None
        return f"a number from {self.range.least:g} to {self.range.most:,.0f}"


def _replace_at(part: Any, path: Sequence[str], value: Any) -> Any:
    """Copy a trial, or a part of it, with another value at a path of attributes."""
    name, *rest = path
    changes = {name: _replace_at(getattr(part, name), rest, value) if rest else value}
    return replace(part, **changes) if isinstance(part, RecallRequest) else part._replace(**changes)


def _config_setting(name: str, path: str, key: str) -> TrialSetting:
    """Make a setting of config.toml: its range, values and help come from the table of settings."""
    known = MEMORY_KEYS[key]
    if known.kind == "switch" or known.choices:
        labels = {False: "off", True: "on"} if known.kind == "switch" else {choice: choice for choice in known.choices}
        return TrialSetting(name, path, known.about, None, key, labels)
    is_whole, (least, most) = known.kind == "count", known.bounds(None)
    numbers = Range(1 if is_whole else 0.05, max(0, least), min(most, _LARGEST), is_whole)
    return TrialSetting(name, path, known.about, numbers, key)


SETTINGS: tuple[TrialSetting, ...] = (
    _config_setting("vector weight", "settings.vector_weight", "vector_weight"),
    _config_setting("keyword weight", "settings.keyword_weight", "keyword_weight"),
    _config_setting("threshold", "settings.threshold", "min_relevance_score"),
    _config_setting("search mode", "settings.search_mode", "search_mode"),
    TrialSetting("limit", "request.limit",
            "How many memories are recalled. ZeroClaw uses 5, unless an embedded agent's profile sets another.",
            Range(1, 1, _MOST_RECALLED, is_whole=True)),
    TrialSetting("scoring profile", "profile.version",
            "The ZeroClaw version whose scoring rules apply. Press enter to see all."),
    TrialSetting("session", "request.session_id",
            "Only memories of this session are recalled. Press enter to see all."),
    TrialSetting("injection rule", "request.rule",
            "Which agent recalls: the CLI agent, a channel (Telegram, …), cron, or the embedded agent.", labels=RULES),
    _config_setting("rerank", "settings.rerank.enabled", "rerank_enabled"),
    _config_setting("rerank strategy", "settings.rerank.strategy", "rerank_strategy"),
    _config_setting("mmr lambda", "settings.rerank.mmr_lambda", "mmr_lambda"),
    _config_setting("mmr from", "settings.rerank.threshold", "rerank_threshold"),
    _config_setting("importance", "settings.rerank.importance_weight", "importance_weight"),
    _config_setting("recency", "settings.rerank.recency_weight", "recency_weight"),
    _config_setting("candidates", "settings.rerank.candidate_multiplier", "candidate_multiplier"),
)  # fmt: skip
"""Every setting of a trial, in screen order."""
CONFIG_SETTINGS: Mapping[str, TrialSetting] = {f"memory.{setting.key}": setting for setting in SETTINGS if setting.key}
"""The settings of config.toml that a trial can change, by name."""


def with_values(trial: Trial, values: Mapping[str, Any]) -> Trial:
    """Copy a trial with other values of settings of config.toml, by name."""
    for name, value in values.items():
        trial = _replace_at(trial, CONFIG_SETTINGS[name].path.split("."), value)
    return trial


# Saving them to config.toml

_SIGNS = {"section": " ", "removed": "-", "added": "+"}
_REQUIRED = {"backend": "sqlite", "auto_save": True}
"""ZeroClaw <= 0.7.5 does not load a [memory] table without these; the values are its own defaults."""
_NOTHING_TO_WRITE = "There is nothing to write: config.toml already has these values."
_CHANGE_FIRST = "Change a weight, the threshold, the search mode or rerank first."
_NO_SETTINGS = (
    "Limit, session, moment, rule and version of a what-if are not written: they are no settings of config.toml."
)


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A change of config.toml that can be saved.

    `lines` is the diff, secrets masked, each line with its sign; `warnings` are sentences to read before saving.
    """

    before: bytes = field(repr=False)
    after: bytes = field(repr=False)
    lines: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()


def restore_hint(config: MemoryConfig) -> str:
    """The command that restores the previous config.toml, as the end of a sentence."""
    command = command_at(config.install, os.environ, "zeroclaw onboard", "--restore")
    return f"`{command}` restores the previous one."


def reload_config(
    config: MemoryConfig, environ: Mapping[str, str] | None = None, version: str | None = None
) -> MemoryConfig:
    """Load the config of the same store again; `version` is the ZeroClaw that reads it. Raises BrokenConfig."""
    return load_config(
        config.install,
        os.environ if environ is None else environ,
        backend=config.backend if config.sources.get("memory.backend") == OPTION else None,
        location=config.location,
        read_only=config.read_only,
        version=version,
    )


def complaints_of(library: Library, trial: Trial, about: Collection[Subject] = ALL_SUBJECTS) -> tuple[str, ...]:
    """Describe in sentences which settings of a trial cannot work in this store."""
    facts = library.memory.about
    has_vectors = facts.computes_vectors or (library.embedder is not None and "vectors" not in library.memory.why_not)
    return setting_problems(trial, has_vectors=has_vectors, about=about, has_stages=facts.rule is None)


def plan_settings_change(library: Library, trial: Trial) -> SettingChange:
    """Plan to write the settings of a trial, and those that [memory] requires, to config.toml.

    Raises Refused if nothing can be written, UsageError for values that ZeroClaw does not accept, BrokenConfig.
    """
    config = library.config
    file = config.install.config_file
    if config.read_only:
        raise Refused("With --read-only nothing is changed, not even config.toml.")
    if file is None:
        raise Refused("This store has no config.toml to change.", hint="Open its install with --config-dir DIR.")
    values = _changed_values(library, trial)
    if not values:
        raise Refused(_NOTHING_TO_WRITE, hint=f"{_CHANGE_FIRST} {_NO_SETTINGS}")
    overridden = [
        f"{name} has no effect while {source.removeprefix('environment ')} is set in ZeroClaw's environment."
        for name in values
        if (source := config.sources.get(name, "")).startswith("environment ")
    ]
    warnings = [*complaints_of(library, trial, {CONFIG_SETTINGS[name].subject for name in values}), *overridden]
    request = trial.request
    is_plain = request.limit == request.turn_limit and {*session_scopes(request)} == {None} and request.rule == "cli"
    # config.toml sets no limit, scopes, rule and profile.
    if not is_plain or trial.profile != library.profile.profile:
        warnings.append(_NO_SETTINGS)
    raw = read_config(file)
    if raw is None:
        hint = "Create it with `zeroclaw onboard`, then change its settings."
        raise Refused(f"There is no {file}, so ZeroClaw uses its defaults.", hint=hint)
    before = ConfigDocument.from_bytes(raw, file)
    if before.get(("schema_version",), 1) not in range(1, NEWEST_SCHEMA + 1):
        raise BrokenConfig(f"{file} has an unknown schema_version.", hint="This program does not change such a config.")
    required = {} if config.schema >= NEWEST_SCHEMA else _REQUIRED
    missing = {name: value for name, value in required.items() if not before.has(("memory", name))}
    if missing:
        names = " and ".join(missing)
        warnings.append(f"Also writes {names}, because ZeroClaw <= 0.7.5 does not start without it in [memory].")
    changes: dict[KeyPath, Any] = {tuple(name.split(".")): value for name, value in values.items()}
    after = before.with_values(changes | {("memory", name): value for name, value in missing.items()})
    if after.to_bytes() == raw:
        raise Refused(_NOTHING_TO_WRITE, hint=" ".join(overridden))
    is_modern = config.schema >= NEWEST_SCHEMA or config.install.layout == "data"
    readers = (NEWEST_MODERN if is_modern else NEWEST_OLD, trial.profile.version, library.profile.profile.version)
    for name, value in values.items():
        check_setting(name, value, max(readers, key=version_numbers))
    lines = tuple((_SIGNS[line.kind], line.text) for line in compare_configs(before, after).lines)
    return SettingChange(raw, after.to_bytes(), lines, tuple(warnings))


def _changed_values(library: Library, trial: Trial) -> dict[str, Any]:
    """The changed settings of a trial that its ZeroClaw reads from config.toml, by name."""
    unread: set[Subject] = set() if trial.profile.search_modes else {"mode"}
    unread |= set() if trial.profile.reranks else {"rerank"}
    changed = TriedSettings(trial._replace(settings=library.settings), trial, 0).changed
    return {f"memory.{one.key}": one.get(trial) for one in changed if one.key and one.subject not in unread}


async def save_settings_change(
    library: Library, change: SettingChange, now: datetime, environ: Mapping[str, str] | None = None
) -> None:
    """Save a change with a backup, and use it for scoring from then on. Raises Refused if the file has changed."""

    def save_and_reload() -> MemoryConfig:
        install = library.config.install
        assert install.config_file is not None, "the plan was made for it"
        save_config(install.config_file, change.before, change.after, install.own_dir, now)
        return reload_config(library.config, environ)

    fresh = await asyncio.to_thread(save_and_reload)
    # MemoryConfig has the settings as fields named without "memory.".
    fields = {name: getattr(fresh, name) for name in (setting.key for setting in CONFIG_SETTINGS.values())}
    library.config = library.config._replace(values=fresh.values, sources=fresh.sources, **fields)
    library.settings = scoring_settings(library.config)
