"""Other numbers for recall, tried on gathered evidence and written to config.toml."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.config.form import VALIDATED_SINCE, is_in_range, range_words
from zeroclaw_tui.config.schema import version_numbers
from zeroclaw_tui.config.setting_names import is_read, reading_words
from zeroclaw_tui.curation.profile_choice import profile_remark
from zeroclaw_tui.curation.setting_change import (
    SettingChange,
    Value,
    check_writable,
    config_as_it_is,
    config_file_of,
    planned_change,
    save_change,
    target_of,
    without_effect,
)
from zeroclaw_tui.memory.errors import Refused, WrongUse
from zeroclaw_tui.scoring.profiles import ScoringSettings, Trial, float32
from zeroclaw_tui.scoring.what_if import ALL_SETTINGS, Setting, complaints

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

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

SCORED_BY = (VECTOR_WEIGHT, KEYWORD_WEIGHT, THRESHOLD, SEARCH_MODE, *RERANK)
"""What of config.toml a recall is scored by."""
_ABOUT: Mapping[str, Setting] = {
    VECTOR_WEIGHT: "weights",
    KEYWORD_WEIGHT: "weights",
    THRESHOLD: "threshold",
    SEARCH_MODE: "mode",
    **dict.fromkeys(RERANK, "rerank"),
}
_SOON = timedelta(hours=1)
_ONLY = "of a what-if, config.toml holds the weights, the threshold, the search mode and the rerank stage"


def complaints_of(library: Library, trial: Trial, about: Collection[Setting] = ALL_SETTINGS) -> tuple[str, ...]:
    """What of a trial cannot work in this store, in sentences, and what a version of another schema would do to it."""
    memory = library.memory
    has_vectors = memory.embeds_itself or (library.embedder is not None and memory.capabilities.vectors)
    found = complaints(trial, has_vectors=has_vectors, about=about, has_stages=memory.capabilities.stages)
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


def settings_with(library: Library, values: Mapping[str, Value]) -> ScoringSettings:
    """The library's settings with values of config.toml in place of those it has, by name; other names are ignored."""
    plain = {VECTOR_WEIGHT: "vector_weight", KEYWORD_WEIGHT: "keyword_weight", THRESHOLD: "threshold"}
    changes: dict[str, Any] = {plain[name]: value for name, value in values.items() if name in plain}
    if SEARCH_MODE in values:
        changes["search_mode"] = values[SEARCH_MODE]
    rerank: dict[str, Any] = {RERANK[name]: value for name, value in values.items() if name in RERANK}
    return library.settings._replace(**changes, rerank=library.settings.rerank._replace(**rerank))


def not_written(library: Library, trial: Trial, now: datetime | None = None) -> str | None:
    """What of a trial is no setting of config.toml, in a sentence; None when there is nothing such."""
    request = trial.request
    moment = now or datetime.now(UTC)
    parts = (
        (request.limit != request.turn_limit, "the limit"),
        (request.has_session, "the session"),
        (_is_later(request.as_of, moment), "the day"),
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
    of the trial can be written, WrongUse for values ZeroClaw would not take, BrokenConfig."""
    config = library.config
    check_writable(config)
    config_file_of(config)
    values = written_settings(library, trial)
    if not values:
        raise Refused("There is nothing to write: config.toml says this already.", hint=_hint(library, trial, now))
    _check(values, (trial.profile.version, library.profile.profile.version))
    change = planned_change(config, values, tuple(_warnings(library, trial, values, now)))
    if change.is_empty:
        above = [sentence for name in values for sentence in without_effect(config, name)]
        raise Refused("There is nothing to write: config.toml says this already.", hint=" ".join(above))
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
    from zeroclaw_tui.curation.library import scoring_settings

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
    written = scoring_settings(library.config)
    library.with_settings(written)


def _values(settings: ScoringSettings) -> dict[str, Value]:
    return {
        VECTOR_WEIGHT: settings.vector_weight,
        KEYWORD_WEIGHT: settings.keyword_weight,
        THRESHOLD: settings.threshold,
        SEARCH_MODE: settings.search_mode,
        **{name: getattr(settings.rerank, field) for name, field in RERANK.items()},
    }


def _is_same(one: Value, other: Value) -> bool:
    both_no_number = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return one == other or both_no_number


def _check(values: Mapping[str, Value], versions: tuple[str, ...]) -> None:
    """Raise WrongUse for a value that ZeroClaw would not take, or that makes no sense as one."""
    for name, value in values.items():
        if isinstance(value, str | bool):
            continue
        if not math.isfinite(float32(value)) or value < 0:
            raise WrongUse(f"{name} must be a number from 0 on, and {value:g} is not.", hint="Nothing was written.")
        validating = [version for version in versions if version_numbers(version) >= VALIDATED_SINCE]
        key = name.removeprefix("memory.")
        if validating and not is_in_range(key, value):
            raise WrongUse(
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


def _hint(library: Library, trial: Trial, now: datetime | None) -> str:
    return not_written(library, trial, now) or "Change a weight, the threshold, the search mode or rerank first."


def _is_later(as_of: str, now: datetime) -> bool:
    try:
        moment = datetime.fromisoformat(as_of)
    except ValueError:
        return False
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment - now.astimezone() > _SOON
