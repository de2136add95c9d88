"""From an install, its config.toml, the environment and the options to one MemoryConfig."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from zeroclaw_tui.config.locations import Install, is_url, read_toml, without_password
from zeroclaw_tui.config.memory_config import (
    DEFAULT,
    FILE,
    EmbeddingConfig,
    Form,
    MemoryConfig,
    Notes,
    concern_of,
    form_of,
    is_validated_range,
    shown,
    to_third_schema,
    violations,
)
from zeroclaw_tui.config.schema import DAYS_BY_CATEGORY, KIND_WORDS, MEMORY_KEYS, Kind, Setting, fits, version_numbers
from zeroclaw_tui.config.settings import confirmed_stores
from zeroclaw_tui.config.storage import (
    OTHERS_DB_URL,
    OUR_DB_URLS,
    Backend,
    Reveal,
    apply_generic,
    choose_backend,
    given,
    note_unknown_storage,
    read_storage,
    source_of,
)

LOCAL = "local"
_HINT = "hint:"
_CUSTOM = "custom:"
_HOSTED = ("openai", "openrouter")
_ROUTE_KEYS: Mapping[str, Kind] = {
    "hint": "text",
    "provider": "text",
    "model_provider": "text",
    "model": "text",
    "dimensions": "count",
    "api_key": "text",
}
_ENVIRONMENT_KEYS = {"openai": "OPENAI_API_KEY", "openrouter": "OPENROUTER_API_KEY", "cohere": "COHERE_API_KEY"}
_DIRECT = MEMORY_KEYS.keys() & set(MemoryConfig._fields) - {"backend"}
"""The settings that MemoryConfig has by their names."""
_POLICY = ("threat_scan", "threat_scan_load_time")
_MAKES_VECTORS = ("sqlite", "lucid", "qdrant")
_TABLES = frozenset(("mem0", *(name.partition(".")[0] for name in MEMORY_KEYS if "." in name)))
"""The tables below [memory]. That of mem0, which only 0.5.5 and 0.5.6 read, is passed over."""
_WHOSE = f"The database is the one {OTHERS_DB_URL} names, which may be another program's"
READ_ONLY = (
    f"{_WHOSE}: read only. Where it is ZeroClaw's, say so once in the inspector with b, or name its URL with "
    "--location each time."
)
CONFIRMED = f"{_WHOSE}; it was confirmed as ZeroClaw's."


def load_config(
    install: Install,
    environ: Mapping[str, str],
    *,
    backend: str | None = None,
    location: str | None = None,
    read_only: bool = False,
    version: str | None = None,
    values: Mapping[str, Any] | None = None,
) -> MemoryConfig:
    """What ZeroClaw, and then the options, say about memory; a missing config.toml means defaults.

    `version` is the ZeroClaw that is known to read it, by which its keys are judged; `values` what TOML reads in
    config.toml, or in what is to take its place, where that is known.

    Raises BrokenConfig when config.toml is there but cannot be read; everything less is a warning.
    """
    notes = Notes()
    if values is None:
        values = read_toml(install.config_file) if install.config_file else None
    document = dict(values or {})
    form = form_of(document, install, notes, version)
    own = notes.table(document, "memory")
    written = document
    if form.is_modern:
        document = to_third_schema(document, form, notes)
    if install.config_dir is not None:
        document = apply_generic(document, environ, form, notes)
    memory = read_memory(document, form, notes)
    chosen = _backend(install, document, memory, environ, form, notes, backend)
    note_unknown_storage(written, form, notes, chosen.kind)
    revealing = _revealing(install, notes)
    storage = read_storage(document, memory, chosen, _heeded(environ, location), form, notes, revealing)
    embedding = read_embedding(document, memory, environ, form, notes, revealing)
    if embedding.dimensions == 0 and embedding.provider not in ("", "none") and chosen.kind in _MAKES_VECTORS:
        notes.warn(
            "memory.embedding_dimensions is 0: no embeddings are made, and recall uses keywords only.", "vectors"
        )
    for violation in violations(document, ".".join(map(str, form.reading_version))):
        if not any(map(is_validated_range, violation.keys)):
            notes.warn(f"ZeroClaw refuses to save this config: {violation.message}")
    is_foreign = _must_be_read_only(install, storage, location, notes)
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
        values=own | notes.table(document, "memory"),
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
    def decrypt_or_note(value: str, name: str) -> str | None:
        # Few configs have a secret that is read for a list, and what looks for them in texts is slow to be made.
        from zeroclaw_tui.config.secrets import SecretUnreadable, reveal

        try:
            return reveal(value, install.config_dir)
        except SecretUnreadable as problem:
            notes.warn(f"{name} is encrypted and cannot be used: {problem}", "store")
            return None

    return decrypt_or_note


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


def read_memory(document: Mapping[str, Any], form: Form, notes: Notes) -> dict[str, Any]:
    """The effective value of every key of the table, by its dotted name; a value that cannot be used gives way."""
    section = notes.table(document, "memory")
    flat = dict(_flat(section, notes))
    for name in flat:
        if name not in MEMORY_KEYS and not name.startswith("mem0."):
            _note_unknown(name, notes)
    effective = {name: _value(key, flat, form, notes) for name, key in MEMORY_KEYS.items()}
    _note_missing(document, section, form, notes)
    _note_useless(effective, notes)
    return effective


def _flat(section: Mapping[str, Any], notes: Notes) -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if name not in _TABLES:
            yield name, value
        elif isinstance(value, dict):
            yield from ((f"{name}.{below}", item) for below, item in value.items())
        else:
            notes.wrong_type(f"memory.{name}", value, "a table", "memory", "is left out")


def _note_unknown(name: str, notes: Notes) -> None:
    table, dot, _ = name.rpartition(".")
    siblings = [key for key in MEMORY_KEYS if key.rpartition(".")[0] == table] if dot else list(MEMORY_KEYS)
    notes.unknown(name, "[memory]", siblings)


def _value(key: Setting, flat: Mapping[str, Any], form: Form, notes: Notes) -> Any:
    where, name = key.name, key.name.removeprefix("memory.")
    if name not in flat:
        if _is_read(key, form):
            notes.sources.setdefault(where, DEFAULT)
        return _copy(key.default)
    value = flat[name]
    problem = _wrong(key, value)
    if problem is not None:
        notes.sources[where] = DEFAULT
        notes.wrong_type(where, value, problem, "memory", "counts as its default")
        return _copy(key.default)
    _note_generation(key, form, notes)
    if key.choices and not _is_choice(key, value):
        return _other_word(key, value, notes)
    if not _in_range(key, value, form):
        notes.warn(f"{where} is {value}, outside {_range_words(key)}; ZeroClaw uses it as it is.", concern_of(where))
    notes.sources.setdefault(where, FILE)
    return float(value) if key.kind == "number" else value


def _wrong(key: Setting, value: Any) -> str | None:
    """What the value must be, when ZeroClaw cannot read it into the key's type."""
    if not fits(key.kind, value):
        return KIND_WORDS[key.kind]
    if key.kind == "count" and value > key.largest:
        return f"a whole number from 0 to {key.largest}"
    if key.name == DAYS_BY_CATEGORY and not all(fits("count", days) for days in value.values()):
        return "a table of whole numbers"
    return None


def _is_choice(key: Setting, value: str) -> bool:
    return value in key.choices if key.is_strict else value.strip().lower() in key.choices


def _other_word(key: Setting, value: str, notes: Notes) -> Any:
    where = key.name
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


def _in_range(key: Setting, value: Any, form: Form) -> bool:
    if key.kind not in ("count", "number"):
        return True
    low, high = key.bounds(form.reading_version)
    return math.isfinite(value) and low <= value <= high


def _range_words(key: Setting) -> str:
    if key.low is None:
        return "the finite numbers"
    return f"the numbers from {key.low:g}" if key.high is None else f"{key.low:g} to {key.high:g}"


def _is_read(key: Setting, form: Form) -> bool:
    """True when the ZeroClaw that reads the file, or where that is not known one of its generation, knows the key."""
    if form.version is not None:
        is_over = key.until is not None and not form.is_modern and form.version > version_numbers(key.until)
        known_by_now = version_numbers(key.since) <= form.version and not is_over
        return known_by_now and not (form.is_modern and key.until is not None)
    return key.until is None if form.is_modern else key.since < "0.8"


def _note_generation(key: Setting, form: Form, notes: Notes) -> None:
    if not _is_read(key, form):
        bound = f"from {key.since} on" if key.until is None else f"up to {key.until}"
        notes.warn(f"{key.name} does nothing here: ZeroClaw reads it {bound} only.", concern_of(key.name))


def _note_missing(document: Mapping[str, Any], section: Mapping[str, Any], form: Form, notes: Notes) -> None:
    missing = [name for name in ("backend", "auto_save") if name not in section]
    if form.is_modern or "memory" not in document or not missing:
        return
    notes.warn(f"[memory] has no {' and no '.join(missing)}; ZeroClaw <= 0.7.5 does not start without it.")


def _note_useless(effective: Mapping[str, Any], notes: Notes) -> None:
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


class _Key(NamedTuple):
    """A key as it stands in the config or the environment, not yet decrypted, and where."""

    text: str
    source: str
    may_be_sealed: bool = True


def read_embedding(
    document: Mapping[str, Any],
    memory: Mapping[str, Any],
    environ: Mapping[str, str],
    form: Form,
    notes: Notes,
    reveal: Reveal,
) -> EmbeddingConfig:
    """The embedding settings after routes and references, with the key that ZeroClaw would send.

    Order of keys: the route's, memory.embedding_api_key (>= 0.8.2), the provider profile's, the chat provider's.
    ZeroClaw 0.2.1 to 0.7.5 put the provider's own variable before the chat provider's key.
    """
    settings = EmbeddingConfig(
        memory["embedding_provider"].strip(), memory["embedding_model"].strip(), memory["embedding_dimensions"]
    )
    keys = [_memory_key(memory, notes)] if form.is_modern else []
    inherited = [_chat_key(document, environ, form, notes)]
    if not form.is_modern:
        inherited.insert(0, _variable_key(settings.provider, environ))
    route = _route(document, memory, form, notes)
    if route is not None:
        settings = _routed(route, settings)
        notes.sources["memory.embedding_provider"] = f"{FILE}, [[embedding_routes]] {shown(route['hint'].strip())}"
        keys.insert(0, _plain_key(route.get("api_key"), f"{FILE}, [[embedding_routes]]", sealed=form.is_modern))
    if form.is_modern:
        settings, profile_key = _referenced(settings, document, notes)
        keys.append(profile_key)
    _note_provider(settings, notes)
    chosen = next((key for key in (*keys, *inherited) if key is not None), None)
    return _with_key(settings, chosen, notes, reveal)


def _with_key(settings: EmbeddingConfig, key: _Key | None, notes: Notes, reveal: Reveal) -> EmbeddingConfig:
    if key is None or not settings.is_on or settings.provider == LOCAL:
        return settings
    plain = reveal(key.text, "the embedding key") if key.may_be_sealed else key.text
    if not plain or not plain.strip():
        return settings
    notes.sources["embedding.api_key"] = key.source
    return settings._replace(api_key=plain.strip())


def _plain_key(value: object, source: str, *, sealed: bool = True) -> _Key | None:
    return _Key(value.strip(), source, sealed) if isinstance(value, str) and value.strip() else None


def _memory_key(memory: Mapping[str, Any], notes: Notes) -> _Key | None:
    return _plain_key(memory["embedding_api_key"], notes.sources.get("memory.embedding_api_key", FILE))


def _variable_key(provider: str, environ: Mapping[str, str]) -> _Key | None:
    variable = _ENVIRONMENT_KEYS.get(provider, "")
    return _plain_key(given(environ, variable), source_of(variable), sealed=False)


def _chat_key(document: Mapping[str, Any], environ: Mapping[str, str], form: Form, notes: Notes) -> _Key | None:
    """The key of the chat provider, which ZeroClaw sends where embeddings have none of their own."""
    if form.is_modern:
        agents = [agent for agent in notes.table(document, "agents").values() if isinstance(agent, dict)]
        references = [agent.get("model_provider") for agent in agents]
        profiles = [_profile(document, name, notes) for name in references if isinstance(name, str)]
        found = [_plain_key(profile.get("api_key"), f"{FILE}, the agent's model provider") for profile in profiles]
        key = next((key for key in found if key is not None), None)
        return key or _old_chat_key(document, form, notes)
    # The first variable that is set counts, even when it is empty.
    variable = "ZEROCLAW_API_KEY" if "ZEROCLAW_API_KEY" in environ else "API_KEY"
    if environ.get(variable):
        return _plain_key(environ[variable], source_of(variable), sealed=False)
    return _old_chat_key(document, form, notes)


def _old_chat_key(document: Mapping[str, Any], form: Form, notes: Notes) -> _Key | None:
    """Where schema 1 and 2 keep the chat provider's key."""
    if form.schema > 2:
        return None
    if form.schema == 1:
        return _plain_key(document.get("api_key"), f"{FILE}, api_key")
    name = notes.table(document, "providers").get("fallback")
    profile = notes.table(document, "providers", "models", name) if isinstance(name, str) else {}
    return _plain_key(profile.get("api_key"), f"{FILE}, the chat provider's api_key")


def _route(document: Mapping[str, Any], memory: Mapping[str, Any], form: Form, notes: Notes) -> dict[str, Any] | None:
    """The embedding route that `hint:<name>` picks, None when none is asked for or it cannot be used."""
    model = memory["embedding_model"]
    hint = model.removeprefix(_HINT).strip() if model.startswith(_HINT) else ""
    if not hint:
        return None
    routes = [route for route in _routes(document, form, notes) if route.get("hint", "").strip() == hint]
    if not routes:
        notes.warn(
            f'No embedding route has the hint "{shown(hint)}"; the [memory] values are used, as ZeroClaw does.',
            "vectors",
        )
        return None
    provider = routes[0].get("model_provider", routes[0].get("provider", ""))
    dimensions = routes[0].get("dimensions", memory["embedding_dimensions"])
    if not provider.strip() or not routes[0].get("model", "").strip() or dimensions == 0:
        notes.warn(
            f'The embedding route "{shown(hint)}" lacks a provider, a model or dimensions; the [memory] values are '
            "used, as ZeroClaw does.",
            "vectors",
        )
        return None
    return {**routes[0], "provider": provider, "dimensions": dimensions}


def _routes(document: Mapping[str, Any], form: Form, notes: Notes) -> list[dict[str, Any]]:
    """All routes: at the top level, but below `providers` in schema 2."""
    holder = notes.table(document, "providers") if form.schema == 2 and not form.is_modern else document
    routes = holder.get("embedding_routes", [])
    if not isinstance(routes, list) or not all(isinstance(route, dict) for route in routes):
        notes.wrong_type("embedding_routes", routes, "an array of tables", "embedding_routes", "is left out")
        return []
    checked = []
    for route in routes:
        values = {
            name: notes.value(route, name, kind, f"embedding_routes.{name}") for name, kind in _ROUTE_KEYS.items()
        }
        checked.append({name: value for name, value in values.items() if value is not None})
    return checked


def _routed(route: Mapping[str, Any], settings: EmbeddingConfig) -> EmbeddingConfig:
    return settings._replace(
        provider=route["provider"].strip(), model=route["model"].strip(), dimensions=route["dimensions"]
    )


def _referenced(
    settings: EmbeddingConfig, document: Mapping[str, Any], notes: Notes
) -> tuple[EmbeddingConfig, _Key | None]:
    """A `<type>.<alias>` of ZeroClaw >= 0.8.0 made concrete by its profile under [providers.models]."""
    name = settings.provider
    if name.startswith(_CUSTOM) or "." not in name:
        return settings, None
    profile = _profile(document, name, notes)
    kind = name.partition(".")[0]
    uri = profile.get("uri")
    if isinstance(uri, str) and uri.strip():
        provider = f"{_CUSTOM}{uri.strip()}"
    elif profile and kind in _HOSTED:
        provider = kind
    else:
        why = "has no uri" if profile else "is not under [providers.models]"
        notes.warn(f"The embedding provider {shown(name)} {why}; ZeroClaw makes no vectors with it.", "vectors")
        return settings._replace(provider="none"), None
    key = _plain_key(profile.get("api_key"), f"{FILE}, [providers.models.{shown(name)}]")
    return settings._replace(provider=provider), key


def _profile(document: Mapping[str, Any], reference: str, notes: Notes) -> dict[str, Any]:
    kind, _, alias = reference.strip().partition(".")
    aliases = notes.table(document, "providers", "models").get(kind)
    profile = aliases.get(alias) if isinstance(aliases, dict) else None
    return profile if isinstance(profile, dict) else {}


def _note_provider(settings: EmbeddingConfig, notes: Notes) -> None:
    name = settings.provider
    if name == LOCAL:
        notes.warn(
            'The embedding provider "local" is this program\'s own; ZeroClaw does not know it and makes no vectors.',
            "vectors",
        )
    elif name not in ("", "none", *_HOSTED) and not name.startswith(_CUSTOM):
        notes.warn(f'ZeroClaw does not know the embedding provider "{shown(name)}" and makes no vectors.', "vectors")


def foreign_store(config: MemoryConfig) -> str | None:
    """The name under which the store of this config is confirmed; None where DATABASE_URL does not name it."""
    return None if is_url(config.location) else _name(config.storage, config.sources)


def store_to_confirm(config: MemoryConfig) -> str | None:
    """The name to give to `settings.confirm_store`, where the store is read-only until then; else None."""
    name = foreign_store(config)
    return None if name is None or name in confirmed_stores(config.install) else name


def _must_be_read_only(install: Install, storage: Mapping[str, Any], location: str | None, notes: Notes) -> bool:
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
