"""From config.toml, environment and options to one MemoryConfig.

The stores that DATABASE_URL alone names: which, whether a person has said that they are ZeroClaw's, and how to.

The [memory] section: each key checked against the table of keys, with its source.

From an install, its config.toml, the environment and the options to one MemoryConfig.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.config.embedding import read_embedding
from zeroclaw_tui.config.environment import OTHERS_DB_URL, OUR_DB_URLS, apply_generic, source_of
from zeroclaw_tui.config.form import Form, form_of, to_third_schema
from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.notes import DEFAULT, FILE, Notes, concern_of, shown
from zeroclaw_tui.config.schema import KIND_WORDS, MEMORY_KEYS, MemoryKey, fits
from zeroclaw_tui.config.secrets import SecretUnreadable, reveal
from zeroclaw_tui.config.server_url import is_url, without_password
from zeroclaw_tui.config.setting_table import version_numbers
from zeroclaw_tui.config.settings import confirmed_stores
from zeroclaw_tui.config.storage import Backend, Reveal, choose_backend, read_storage, tell_unknown_storage
from zeroclaw_tui.config.toml_file import read_toml
from zeroclaw_tui.config.validation import is_validated_range, violations

if TYPE_CHECKING:
    from zeroclaw_tui.config.locations import Install


_WHOSE = f"The database is the one {OTHERS_DB_URL} names, which may be another program's"
READ_ONLY = (
    f"{_WHOSE}: read only. Where it is ZeroClaw's, say so once in the inspector with b, or name its URL with "
    "--location each time."
)
CONFIRMED = f"{_WHOSE}; it was confirmed as ZeroClaw's."


def foreign_store(config: MemoryConfig) -> str | None:
    """The name under which the store of this config is confirmed; None where DATABASE_URL does not name it."""
    return None if is_url(config.location) else _name(config.storage, config.sources)


def store_to_confirm(config: MemoryConfig) -> str | None:
    """The name to give to `settings.confirm_store`, where the store is read-only until then; else None."""
    name = foreign_store(config)
    return None if name is None or name in confirmed_stores(config.install) else name


def must_be_read_only(install: Install, storage: Mapping[str, Any], location: str | None, notes: Notes) -> bool:
    """Whether nothing may be written until a person has confirmed the store; how that is done goes to the warnings."""
    name = None if location is not None else _name(storage, notes.sources)
    if name is None:
        return False
    is_confirmed = name in confirmed_stores(install)
    if is_confirmed:
        notes.warn(CONFIRMED, "fact")
    else:
        notes.warn(READ_ONLY, "store")
    return not is_confirmed


def _name(storage: Mapping[str, Any], sources: Mapping[str, str]) -> str | None:
    if sources.get("storage.db_url") != source_of(OTHERS_DB_URL):
        return None
    table = f"{storage.get('schema', 'public')}.{storage.get('table', 'memories')}"
    return f"{without_password(str(storage['db_url']))} {table}"


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


_DIRECT = frozenset(
    {
        "vector_weight",
        "keyword_weight",
        "search_mode",
        "min_relevance_score",
        "rerank_enabled",
        "rerank_strategy",
        "rerank_threshold",
        "mmr_lambda",
        "importance_weight",
        "recency_weight",
        "candidate_multiplier",
        "hygiene_enabled",
        "archive_after_days",
        "purge_after_days",
        "conversation_retention_days",
        "daily_retention_days",
        "core_retention_days",
        "embedding_cache_size",
        "auto_save",
    }
)
_POLICY = ("threat_scan", "threat_scan_load_time")
_MAKES_VECTORS = ("sqlite", "lucid", "qdrant")


def load_config(
    install: Install,
    environ: Mapping[str, str],
    *,
    backend: str | None = None,
    location: str | None = None,
    read_only: bool = False,
    version: str | None = None,
) -> MemoryConfig:
    """What ZeroClaw, and then the options, say about memory; a missing config.toml means defaults.

    `version` is the ZeroClaw that is known to read it, by which its keys are judged.

    Raises BrokenConfig when config.toml is there but cannot be read; everything less is a warning.
    """
    notes = Notes()
    document = (read_toml(install.config_file) if install.config_file else None) or {}
    form = form_of(document, install, notes, version)
    values = notes.table(document, "memory")
    written = document
    if form.is_modern:
        document = to_third_schema(document, form, notes)
    if install.config_dir is not None:
        document = apply_generic(document, environ, form, notes)
    memory = read_memory(document, form, notes)
    chosen = _backend(install, document, memory, environ, form, notes, backend)
    tell_unknown_storage(written, form, notes, chosen.kind)
    revealing = _revealing(install, notes)
    storage = read_storage(document, memory, chosen, _heeded(environ, location), form, notes, revealing)
    embedding = read_embedding(document, memory, environ, form, notes, revealing)
    if embedding.dimensions == 0 and embedding.provider not in ("", "none") and chosen.kind in _MAKES_VECTORS:
        notes.warn("memory.embedding_dimensions is 0: no vectors are made, and only words are searched.", "vectors")
    for violation in violations(document, ".".join(map(str, form.reading_version))):
        if not any(map(is_validated_range, violation.keys)):
            notes.warn(f"ZeroClaw refuses to save this config: {violation.message}")
    is_foreign = must_be_read_only(install, storage, location, notes)
    return MemoryConfig(
        install=install,
        backend=chosen.kind,
        alias=chosen.alias,
        zeroclaw_backend=chosen.in_zeroclaw,
        schema=form.schema,
        embedding=embedding,
        agents=_agents(document, form, notes),
        agent_workspaces=_agent_workspaces(document, form, notes),
        recall_limits=_recall_limits(document, form, notes),
        location=location,
        read_only=read_only or is_foreign,
        storage=storage,
        values=values | notes.table(document, "memory"),
        sources=notes.sources,
        warnings=tuple(notes.warnings),
        concerns=notes.concerns,
        **{name: memory[name] for name in _DIRECT},
        **{name: memory[f"policy.{name}"] for name in _POLICY},
    )


def _heeded(environ: Mapping[str, str], location: str | None) -> Mapping[str, str]:
    """The variables without those that name a database, where the place is named already."""
    if location is None:
        return environ
    return {name: value for name, value in environ.items() if name not in (*OUR_DB_URLS, OTHERS_DB_URL)}


def _backend(
    install: Install,
    document: Mapping[str, Any],
    memory: Mapping[str, Any],
    environ: Mapping[str, str],
    form: Form,
    notes: Notes,
    option: str | None,
) -> Backend:
    if install.layout != "lone" or option is not None:
        return choose_backend(document, memory["backend"], environ, form, notes, option)
    kind = "sqlite" if os.path.exists(install.database) else "markdown"
    notes.sources["memory.backend"] = install.rule
    return Backend(kind, None, kind)


def _revealing(install: Install, notes: Notes) -> Reveal:
    def plain_or_told(value: str, name: str) -> str | None:
        try:
            return reveal(value, install.config_dir)
        except SecretUnreadable as problem:
            notes.warn(f"{name} is encrypted and cannot be used: {problem}", "store")
            return None

    return plain_or_told


def _agents(document: Mapping[str, Any], form: Form, notes: Notes) -> dict[str, tuple[str, ...]]:
    """The agents of ZeroClaw >= 0.8.0 and whose memory each may read; before that the table means something else."""
    if not form.is_modern:
        return {}
    table = notes.table(document, "agents")
    agents: dict[str, tuple[str, ...]] = {}
    for alias in table:
        settings = notes.table(document, "agents", alias)
        agents[alias] = tuple(_readable(alias, settings, notes))
        memory = settings.get("memory")
        kind = memory.get("backend") if isinstance(memory, dict) else None
        if kind in ("markdown", "none"):
            where = "in Markdown files of its own" if kind == "markdown" else "nowhere"
            notes.warn(f"The agent {shown(alias)} keeps its memory {where}.", "fact")
    return agents


def _agent_workspaces(document: Mapping[str, Any], form: Form, notes: Notes) -> dict[str, str]:
    """The folders that ZeroClaw >= 0.8.0 uses in place of agents/<alias>/workspace."""
    if not form.is_modern:
        return {}
    found: dict[str, str] = {}
    for alias in notes.table(document, "agents"):
        workspace = notes.table(document, "agents", alias).get("workspace")
        if isinstance(workspace, dict):
            path = notes.value(workspace, "path", "text", f"agents.{alias}.workspace.path")
            found |= {alias: path} if path and path.strip() else {}
    return found


def _recall_limits(document: Mapping[str, Any], form: Form, notes: Notes) -> dict[str, int]:
    """How many memories the embedded agent of ZeroClaw >= 0.8.0 recalls for a message, by the agents that say so."""
    if not form.is_modern:
        return {}
    limits: dict[str, int] = {}
    for alias in notes.table(document, "agents"):
        profile = notes.table(document, "agents", alias).get("runtime_profile")
        if isinstance(profile, str) and profile.strip() in notes.table(document, "runtime_profiles"):
            name = profile.strip()
            settings = notes.table(document, "runtime_profiles", name)
            limit = notes.value(
                settings, "memory_recall_limit", "count", f"runtime_profiles.{name}.memory_recall_limit"
            )
            if limit is not None:
                limits[alias] = limit
    return limits


def _readable(alias: str, settings: Mapping[str, Any], notes: Notes) -> list[str]:
    workspace = settings.get("workspace", {})
    if not isinstance(workspace, dict):
        notes.wrong_type(f"agents.{alias}.workspace", workspace, "a table", "agents", "is left out")
        return []
    names = notes.value(workspace, "read_memory_from", "texts", f"agents.{alias}.workspace.read_memory_from") or []
    return list(names)
