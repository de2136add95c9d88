"""Other settings of [memory]: tried on gathered evidence, planned as a masked difference of config.toml, and saved."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import command_at
from zeroclaw_tui.config.memory_config import (
    NEWEST_SCHEMA,
    OPTION,
    VALIDATED_SINCE,
    MemoryConfig,
    check_change,
    is_in_range,
    range_words,
)
from zeroclaw_tui.config.save import difference, read_config, save_config
from zeroclaw_tui.config.schema import NEWEST_MODERN, NEWEST_OLD, version_numbers
from zeroclaw_tui.config.setting_names import Target, is_read, reading_words
from zeroclaw_tui.config.toml import KeyPath
from zeroclaw_tui.curation.library import profile_remark, scoring_settings
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import BrokenConfig, Refused, UsageError
from zeroclaw_tui.scoring.profiles import ScoringSettings, Trial, float32
from zeroclaw_tui.scoring.what_if import ALL_SETTINGS, Setting, complaints

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


Value = bool | int | float | str

_SIGNS = {"section": " ", "removed": "-", "added": "+"}
_REQUIRED = {"backend": "sqlite", "auto_save": True}
"""ZeroClaw <= 0.7.5 does not load a [memory] without them; these are what it takes where there is no [memory]."""
_ENVIRONMENT = "environment "


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A change of config.toml, ready to save. `lines` is the masked difference, a sign ("+", "-", " ") with each."""

    before: bytes | None = field(repr=False)
    after: bytes = field(repr=False)
    lines: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()
    """Sentences: what should be known before it is saved."""

    @property
    def is_empty(self) -> bool:
        """True when the file stays as it is."""
        return self.before == self.after


def planned_change(config: MemoryConfig, values: Mapping[str, Value], warnings: tuple[str, ...] = ()) -> SettingChange:
    """What changes in the file with these values, which are checked already, by name ("memory.vector_weight").

    Exactly these keys change, but `backend` and `auto_save` are added to a [memory] that has to have them. Raises
    Refused for a store without a config.toml, UsageError for what ZeroClaw's own validation would refuse, BrokenConfig.
    """
    file = config_file_of(config)
    raw = read_config(file)
    if raw is None:
        raise _no_file(file)
    before = ConfigDocument.from_bytes(raw, file)
    _check_schema(before, file)
    changes: dict[KeyPath, Any] = {tuple(name.split(".")): value for name, value in values.items()}
    missing = _missing(before, config) if any(path[0] == "memory" for path in changes) else {}
    after = before.with_values(changes | missing)
    is_modern = config.schema >= NEWEST_SCHEMA or config.install.layout == "data"
    check_change(before.values, after.values, values, NEWEST_MODERN if is_modern else NEWEST_OLD)
    lines = tuple((_SIGNS[line.kind], line.text) for line in difference(before, after).lines)
    if missing and lines:
        added = " and ".join(path[-1] for path in missing)
        are, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        as_well = f"{added} {are} written as well: ZeroClaw <= 0.7.5 does not start with a [memory] without {them}."
        warnings = (*warnings, as_well)
    return SettingChange(raw, after.to_bytes(), lines, warnings)


def save_change(config: MemoryConfig, change: SettingChange, now: datetime) -> None:
    """Save it with a backup. Raises Refused when the file changed meanwhile, Unreadable."""
    check_writable(config)
    if not change.is_empty:
        save_config(config_file_of(config), change.before, change.after, config.install.own_dir, now)


def way_back(config: MemoryConfig) -> str:
    """Which command brings the config.toml of before back once a change is saved, as the end of a sentence."""
    command = command_at(config.install, os.environ, "zeroclaw onboard", "--restore")
    return f"`{command}` restores the previous one."


def check_writable(config: MemoryConfig) -> None:
    """Raise Refused where nothing may be changed."""
    if config.read_only:
        raise Refused("With --read-only nothing is changed, not even config.toml.")


def config_as_it_is(
    config: MemoryConfig, environ: Mapping[str, str] | None = None, version: str | None = None
) -> MemoryConfig:
    """The same config loaded again, for the store that is open; `version` is who reads it. Raises BrokenConfig."""
    kind = config.backend if config.sources.get("memory.backend") == OPTION else None
    variables = os.environ if environ is None else environ
    return load_config(
        config.install,
        variables,
        backend=kind,
        location=config.location,
        read_only=config.read_only,
        version=version,
    )


def config_file_of(config: MemoryConfig) -> Path:
    """The config.toml of the install. Raises Refused where there is none, with what to do."""
    file = config.install.config_file
    if file is None:
        raise Refused(
            "This store was opened without an install, so there is no config.toml to change.",
            hint="Open its install with --config-dir DIR.",
        )
    if not os.path.lexists(file):
        raise _no_file(file)
    return file


def target_of(config: MemoryConfig, version: str) -> Target:
    """Who reads this config, where ZeroClaw is of that version."""
    is_modern = version_numbers(version) >= (0, 8, 0)
    return Target(config.schema, config.schema >= NEWEST_SCHEMA, is_modern, version)


def variable_above(config: MemoryConfig, name: str) -> str | None:
    """The environment variable that counts in place of the file's value, None where there is none."""
    source = config.sources.get(name, "")
    return source.removeprefix(_ENVIRONMENT) if source.startswith(_ENVIRONMENT) else None


def without_effect(config: MemoryConfig, name: str) -> Iterator[str]:
    """A sentence where a variable stands above the setting."""
    variable = variable_above(config, name)
    if variable is not None:
        yield f"{name} has no effect while {variable} is set in ZeroClaw's environment."


def _missing(document: ConfigDocument, config: MemoryConfig) -> dict[KeyPath, Any]:
    if config.schema >= NEWEST_SCHEMA:
        return {}
    return {("memory", name): value for name, value in _REQUIRED.items() if not document.has(("memory", name))}


def _check_schema(document: ConfigDocument, file: Path) -> None:
    schema = document.get(("schema_version",), 1)
    if isinstance(schema, bool) or not isinstance(schema, int) or not 1 <= schema <= NEWEST_SCHEMA:
        raise BrokenConfig(
            f"{file} has an unknown schema_version.",
            hint="This program does not change a config of an unknown format.",
        )


def _no_file(file: Path) -> Refused:
    return Refused(
        f"There is no {file}, so ZeroClaw uses its defaults.",
        hint="Create it with `zeroclaw onboard`, then change its settings.",
    )


VECTOR_WEIGHT = "memory.vector_weight"
KEYWORD_WEIGHT = "memory.keyword_weight"
THRESHOLD = "memory.min_relevance_score"
SEARCH_MODE = "memory.search_mode"
RERANK: Mapping[str, str] = {
    "memory.rerank_enabled": "enabled",
    "memory.rerank_strategy": "strategy",
    "memory.rerank_threshold": "threshold",
    "memory.mmr_lambda": "mmr_lambda",
    "memory.importance_weight": "importance_weight",
    "memory.recency_weight": "recency_weight",
    "memory.candidate_multiplier": "candidate_multiplier",
}
"""The keys of the rerank stage in config.toml, and what they are called here."""

_PLAIN: Mapping[str, str] = {
    VECTOR_WEIGHT: "vector_weight",
    KEYWORD_WEIGHT: "keyword_weight",
    THRESHOLD: "threshold",
    SEARCH_MODE: "search_mode",
}
"""The other keys, and theirs."""

_ABOUT: Mapping[str, Setting] = {
    VECTOR_WEIGHT: "weights",
    KEYWORD_WEIGHT: "weights",
    THRESHOLD: "threshold",
    SEARCH_MODE: "mode",
    **dict.fromkeys(RERANK, "rerank"),
}
_SOON = timedelta(hours=1)
_SAID_ALREADY = "There is nothing to write: config.toml already has these values."
_ONLY = "of a what-if, config.toml holds the weights, the threshold, the search mode and the rerank stage"


def complaints_of(library: Library, trial: Trial, about: Collection[Setting] = ALL_SETTINGS) -> tuple[str, ...]:
    """What of a trial cannot work in this store, in sentences, and what a version of another schema would do to it."""
    memory = library.memory
    has_vectors = memory.about.embeds_itself or (library.embedder is not None and "vectors" not in memory.why_not)
    found = complaints(trial, has_vectors=has_vectors, about=about, has_stages=memory.about.rule is None)
    remark = profile_remark(trial.profile, memory)
    return found if remark is None else (*found, remark)


def written_settings(library: Library, trial: Trial) -> Mapping[str, Value]:
    """What of a trial config.toml can hold and does not hold yet, by name ("memory.vector_weight").

    The search mode only where the trial's version or the store's reads it (>= 0.6.3).
    """
    versions = (trial.profile.version, library.profile.profile.version)
    reads_mode = any(is_read(SEARCH_MODE, target_of(library.config, version)) for version in versions)
    reranks = trial.profile.reranks or library.profile.profile.reranks
    names = [name for name in _ABOUT if (name != SEARCH_MODE or reads_mode) and (name not in RERANK or reranks)]
    present, wanted = _values(library.settings), _values(trial.settings)
    return {name: wanted[name] for name in names if not _is_same(present[name], wanted[name])}


def not_written(library: Library, trial: Trial, now: datetime | None = None) -> str | None:
    """What of a trial is no setting of config.toml, in a sentence; None when there is nothing such."""
    request = trial.request
    day, now = moment(request.as_of), (now or datetime.now()).astimezone()
    parts = (
        (request.limit != request.turn_limit, "the limit"),
        (request.has_session, "the session"),
        (day is not None and day - now > _SOON, "the day"),
        (request.rule != "cli", "the injection rule"),
        (trial.profile.version != library.profile.profile.version, "the profile"),
    )
    left = [what for is_there, what in parts if is_there]
    if not left:
        return None
    named = left[0] if len(left) == 1 else f"{', '.join(left[:-1])} and {left[-1]}"
    return f"{named[0].upper()}{named[1:]} {'is' if len(left) == 1 else 'are'} not written: {_ONLY} alone."


def plan_settings_change(library: Library, trial: Trial, now: datetime | None = None) -> SettingChange:
    """What changes in config.toml, ready to be shown and saved. Raises Refused for a store without one or when nothing
    of the trial can be written, UsageError for values ZeroClaw would not take, BrokenConfig."""
    config = library.config
    check_writable(config)
    config_file_of(config)
    values = written_settings(library, trial)
    if not values:
        hint = not_written(library, trial, now) or "Change a weight, the threshold, the search mode or rerank first."
        raise Refused(_SAID_ALREADY, hint=hint)
    _check(values, (trial.profile.version, library.profile.profile.version))
    change = planned_change(config, values, tuple(_warnings(library, trial, values, now)))
    if change.is_empty:
        above = [sentence for name in values for sentence in without_effect(config, name)]
        raise Refused(_SAID_ALREADY, hint=" ".join(above))
    return change


async def save_settings_change(
    library: Library, change: SettingChange, now: datetime, environ: Mapping[str, str] | None = None
) -> None:
    """Save it with a backup; the library scores from then on as its config says, variables above the file included.

    Raises Refused when the file changed meanwhile, Unreadable, BrokenConfig.
    """
    # In one piece: whoever goes away in between must not leave other settings in the file than are shown.
    await asyncio.shield(_saved(library, change, now, environ))


async def _saved(library: Library, change: SettingChange, now: datetime, environ: Mapping[str, str] | None) -> None:
    await asyncio.to_thread(save_change, library.config, change, now)
    fresh = await asyncio.to_thread(config_as_it_is, library.config, environ)
    library.config = library.config._replace(
        values=fresh.values,
        sources=fresh.sources,
        vector_weight=fresh.vector_weight,
        keyword_weight=fresh.keyword_weight,
        min_relevance_score=fresh.min_relevance_score,
        search_mode=fresh.search_mode,
        **{name.removeprefix("memory."): getattr(fresh, name.removeprefix("memory.")) for name in RERANK},
    )
    library.settings = scoring_settings(library.config)


def _values(settings: ScoringSettings) -> dict[str, Value]:
    plain = {name: getattr(settings, field) for name, field in _PLAIN.items()}
    return {**plain, **{name: getattr(settings.rerank, field) for name, field in RERANK.items()}}


def _is_same(one: Value, other: Value) -> bool:
    both_no_number = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return one == other or both_no_number


def _check(values: Mapping[str, Value], versions: tuple[str, ...]) -> None:
    """Raise UsageError for a value that ZeroClaw would not take, or that makes no sense as one."""
    for name, value in values.items():
        if isinstance(value, str | bool):
            continue
        if not math.isfinite(float32(value)) or value < 0:
            raise UsageError(f"{name} must be a number from 0 on, and {value:g} is not.", hint="Nothing was written.")
        validating = [version for version in versions if version_numbers(version) >= VALIDATED_SINCE]
        key = name.removeprefix("memory.")
        if validating and not is_in_range(key, value):
            raise UsageError(
                f"{name} must be a number {range_words(key)} for ZeroClaw {validating[0]}, and {value:g} is not.",
                hint="Nothing was written.",
            )


def _warnings(library: Library, trial: Trial, values: Mapping[str, Value], now: datetime | None) -> Iterator[str]:
    yield from complaints_of(library, trial, {_ABOUT[name] for name in values})
    for name in values:
        yield from without_effect(library.config, name)
    version = library.profile.profile.version
    if SEARCH_MODE in values and not is_read(SEARCH_MODE, target_of(library.config, version)):
        yield f"ZeroClaw {version} does not read {SEARCH_MODE}; {reading_words(SEARCH_MODE)} do."
    left = not_written(library, trial, now)
    if left is not None:
        yield left
