"""The [memory] section: each key checked against the table of keys, with its source."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from zeroclaw_tui.config.form import Form
from zeroclaw_tui.config.notes import DEFAULT, FILE, Notes, concern_of, shown
from zeroclaw_tui.config.schema import KIND_WORDS, MEMORY_KEYS, MemoryKey, fits
from zeroclaw_tui.config.setting_table import version_numbers

_TABLES = frozenset(name.partition(".")[0] for name in MEMORY_KEYS if "." in name)


def read_memory(document: Mapping[str, Any], form: Form, notes: Notes) -> dict[str, Any]:
    """The effective value of every key of the table, by its dotted name; a value that cannot be used gives way."""
    section = notes.table(document, "memory")
    flat = dict(_flat(section, notes))
    for name in flat:
        if name not in MEMORY_KEYS:
            _tell_unknown(name, notes)
    effective = {name: _value(key, flat, form, notes) for name, key in MEMORY_KEYS.items()}
    _tell_missing(document, section, form, notes)
    _tell_useless(effective, notes)
    return effective


def _flat(section: Mapping[str, Any], notes: Notes) -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if name not in _TABLES:
            yield name, value
        elif isinstance(value, dict):
            yield from ((f"{name}.{below}", item) for below, item in value.items())
        else:
            notes.wrong_type(f"memory.{name}", value, "a table", "memory", "is left out")


def _tell_unknown(name: str, notes: Notes) -> None:
    table, dot, _ = name.rpartition(".")
    siblings = [key for key in MEMORY_KEYS if key.rpartition(".")[0] == table] if dot else list(MEMORY_KEYS)
    notes.unknown(name, "[memory]", siblings)


def _value(key: MemoryKey, flat: Mapping[str, Any], form: Form, notes: Notes) -> Any:
    where = f"memory.{key.name}"
    if key.name not in flat:
        if _is_read(key, form):
            notes.sources.setdefault(where, DEFAULT)
        return _copy(key.default)
    value = flat[key.name]
    problem = _wrong(key, value)
    if problem is not None:
        notes.sources[where] = DEFAULT
        notes.wrong_type(where, value, problem, "memory", "counts as its default")
        return _copy(key.default)
    _tell_generation(key, form, notes)
    if key.choices and not _is_choice(key, value):
        return _other_word(key, value, notes)
    if not _in_range(key, value, form):
        notes.warn(f"{where} is {value}, outside {_range_words(key)}; it is taken as it is.", concern_of(where))
    notes.sources.setdefault(where, FILE)
    return float(value) if key.kind == "number" else value


def _wrong(key: MemoryKey, value: Any) -> str | None:
    """What the value must be, when ZeroClaw cannot read it into the key's type."""
    if not fits(key.kind, value):
        return KIND_WORDS[key.kind]
    if key.kind == "count" and value > key.largest:
        return f"a whole number from 0 to {key.largest}"
    if key.name == "policy.retention_days_by_category" and not all(fits("count", days) for days in value.values()):
        return "a table of whole numbers"
    return None


def _is_choice(key: MemoryKey, value: str) -> bool:
    return value in key.choices if key.is_strict else value.strip().lower() in key.choices


def _other_word(key: MemoryKey, value: str, notes: Notes) -> Any:
    where = f"memory.{key.name}"
    words = ", ".join(key.choices)
    end = (
        "ZeroClaw <= 0.7.5 refuses such a config, >= 0.8.0 takes the whole [memory] section for absent."
        if key.is_strict
        else "ZeroClaw knows no other word."
    )
    notes.warn(
        f'{where} is "{shown(value)}" and must be one of {words}; it counts as {key.default} here. {end}',
        concern_of(where),
    )
    notes.sources[where] = DEFAULT
    return key.default


def _in_range(key: MemoryKey, value: Any, form: Form) -> bool:
    if key.kind not in ("count", "number"):
        return True
    low = -math.inf if key.low is None else key.low
    is_free = key.bounded_since is not None and form.reading_version < version_numbers(key.bounded_since)
    high = math.inf if key.high is None or is_free else key.high
    return math.isfinite(value) and low <= value <= high


def _range_words(key: MemoryKey) -> str:
    if key.low is None:
        return "the finite numbers"
    return f"the numbers from {key.low:g}" if key.high is None else f"{key.low:g} to {key.high:g}"


def _is_read(key: MemoryKey, form: Form) -> bool:
    """True when the ZeroClaw that reads the file, or where that is not known one of its generation, knows the key."""
    if form.version is not None:
        is_over = key.until is not None and not form.is_modern and form.version > version_numbers(key.until)
        known_by_now = version_numbers(key.since) <= form.version and not is_over
        return known_by_now and not (form.is_modern and key.until is not None)
    return key.until is None if form.is_modern else key.since < "0.8"


def _tell_generation(key: MemoryKey, form: Form, notes: Notes) -> None:
    if not _is_read(key, form):
        bound = f"from {key.since} on" if key.until is None else f"up to {key.until}"
        notes.warn(
            f"memory.{key.name} does nothing here: ZeroClaw reads it {bound} only.", concern_of(f"memory.{key.name}")
        )


def _tell_missing(document: Mapping[str, Any], section: Mapping[str, Any], form: Form, notes: Notes) -> None:
    missing = [name for name in ("backend", "auto_save") if name not in section]
    if form.is_modern or "memory" not in document or not missing:
        return
    notes.warn(f"[memory] has no {' and no '.join(missing)}; ZeroClaw <= 0.7.5 does not start without.")


def _tell_useless(effective: Mapping[str, Any], notes: Notes) -> None:
    vector, keyword = effective["vector_weight"], effective["keyword_weight"]
    if math.isfinite(vector + keyword) and vector + keyword == 0:
        notes.warn("memory.vector_weight and memory.keyword_weight add up to 0: every score becomes 0.", "recall")
    if effective["snapshot_on_hygiene"] and not effective["snapshot_enabled"]:
        notes.warn("memory.snapshot_on_hygiene does nothing while memory.snapshot_enabled is false.", "snapshot")


def _copy(default: Any) -> Any:
    """Lists as lists, so that a default looks like a value that was read."""
    if isinstance(default, tuple):
        return list(default)
    return dict(default) if isinstance(default, dict) else default
