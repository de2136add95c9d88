"""Load a MemoryConfig from an install's config.toml, the environment and the options."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from zeroclaw_tui.config.locations import Install, is_url, without_password
from zeroclaw_tui.config.memory_config import (
    DEFAULT,
    FILE,
    EmbeddingConfig,
    MemoryConfig,
    Notes,
    concern_of,
    migrate_to_schema_3,
    shown,
    target_of,
)
from zeroclaw_tui.config.schema import MEMORY_KEYS, Kind, Setting, Target
from zeroclaw_tui.config.settings import confirmed_stores
from zeroclaw_tui.config.storage import (
    OUR_DB_URLS,
    SHARED_DB_URL,
    Backend,
    ConfigReader,
    apply_generic,
    choose_backend,
    read_storage,
    read_variable,
    source_of,
)
from zeroclaw_tui.config.toml import read_toml

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
_KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "openrouter": "OPENROUTER_API_KEY", "cohere": "COHERE_API_KEY"}
_DIRECT = MEMORY_KEYS.keys() & set(MemoryConfig._fields) - {"backend"}
"""The settings that are fields of MemoryConfig with the same name."""
_POLICY = ("threat_scan", "threat_scan_load_time")
_TABLES = frozenset(("mem0", *(name.partition(".")[0] for name in MEMORY_KEYS if "." in name)))
"""The tables below [memory]. The one of mem0 is ignored: only ZeroClaw 0.5.5 and 0.5.6 read it."""
_WHOSE = f"The database is the one {SHARED_DB_URL} names, which may be another program's"
READ_ONLY = (
    f"{_WHOSE}: read only. If it is ZeroClaw's, confirm that once in the inspector (6 Stores, then W), or name its URL "
    "with --location each time."
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
    """Load the memory settings as ZeroClaw does, then apply the options; a missing config.toml means defaults.

    `version` is the version of ZeroClaw that reads it, and `values` the parsed config.toml, each if known. Raises
    BrokenConfig if config.toml cannot be read; all other problems are warnings.
    """
    notes = Notes()
    if values is None and install.config_file is not None:
        values = read_toml(install.config_file)
    document = dict(values or {})
    target = target_of(document, install, notes, version)
    own = notes.table(document, "memory")
    if target.is_modern:
        document = migrate_to_schema_3(document, target, notes)
    if install.config_dir is not None:
        document = apply_generic(document, environ, target, notes)
    memory = read_memory(document, target, notes)
    named = environ if location is None else {**environ, **dict.fromkeys((*OUR_DB_URLS, SHARED_DB_URL), "")}
    reader = ConfigReader(document, named, target, notes, _decryptor(install, notes))
    if install.layout == "lone" and backend is None:
        # The store was opened by its path.
        kind = "sqlite" if os.path.exists(install.database) else "markdown"
        notes.sources["memory.backend"], chosen = install.rule, Backend(kind, None, kind)
    else:
        chosen = choose_backend(reader, memory["backend"], backend)
    storage = read_storage(reader, memory, chosen)
    embedding, agents = read_embedding(reader, memory), _agents(reader)
    foreign = None if location is not None else _foreign_name(storage, notes.sources)
    is_unconfirmed = foreign is not None and foreign not in confirmed_stores(install)
    if foreign is not None:
        notes.warn(READ_ONLY if is_unconfirmed else CONFIRMED, "store" if is_unconfirmed else "fact")
    return MemoryConfig(
        install=install,
        backend=chosen.kind,
        alias=chosen.alias,
        zeroclaw_backend=chosen.in_zeroclaw,
        schema=target.schema,
        embedding=embedding,
        location=location,
        read_only=read_only or is_unconfirmed,
        storage=storage,
        values=own | notes.table(document, "memory"),
        sources=notes.sources,
        warnings=tuple(notes.concerns),
        concerns=notes.concerns,
        **agents,
        **{name: memory[name] for name in _DIRECT},
        **{name: memory[f"policy.{name}"] for name in _POLICY},
    )


def _decryptor(install: Install, notes: Notes) -> Callable[[str, str], str | None]:
    def decrypt_or_warn(value: str, name: str) -> str | None:
        # Imported here because few commands need a secret, and the module is slow to import.
        from zeroclaw_tui.config.secrets import SecretUnreadable, decrypt

        try:
            return decrypt(value, install.config_dir)
        except SecretUnreadable as problem:
            notes.warn(f"{name} is encrypted and cannot be used: {problem}", "store")
            return None

    return decrypt_or_warn


def _agents(reader: ConfigReader) -> dict[str, Any]:
    """Read the fields of MemoryConfig about the agents of ZeroClaw >= 0.8.0, by alias."""
    notes, readable_by = reader.notes, dict[str, tuple[str, ...]]()
    workspaces: dict[str, str] = {}
    recall_limits: dict[str, int] = {}
    # Before 0.8.0 the table has another meaning.
    for alias in reader.table("agents") if reader.target.is_modern else ():
        settings = reader.table("agents", alias)
        workspace, place = reader.table("agents", alias, "workspace"), f"agents.{alias}.workspace"
        readable = notes.value(workspace, "read_memory_from", "texts", f"{place}.read_memory_from")
        readable_by[alias] = tuple(readable or ())
        path = notes.value(workspace, "path", "text", f"{place}.path")
        if path and path.strip():
            workspaces[alias] = path
        profile = str(settings.get("runtime_profile", "")).strip()
        limits = reader.table("runtime_profiles", profile) if profile else {}
        limit = notes.value(limits, "memory_recall_limit", "count", f"runtime_profiles.{profile}.memory_recall_limit")
        if limit is not None:
            recall_limits[alias] = limit
    return {"agents": readable_by, "agent_workspaces": workspaces, "recall_limits": recall_limits}


def read_memory(document: Mapping[str, Any], target: Target, notes: Notes) -> dict[str, Any]:
    """Read the effective value of every key of [memory] by its dotted name; unusable values become defaults."""
    section = notes.table(document, "memory")
    flat: dict[str, Any] = {}
    for name, value in section.items():
        if name not in _TABLES:
            flat[name] = value
        elif isinstance(value, dict):
            flat |= {f"{name}.{below}": item for below, item in value.items()}
        else:
            notes.wrong_type(f"memory.{name}", value, "a table", "memory", "is left out")
    for name in flat:
        if name not in MEMORY_KEYS and not name.startswith("mem0."):
            table = name.rpartition(".")[0]
            notes.unknown(name, "[memory]", [key for key in MEMORY_KEYS if key.startswith(table)])
    effective = {name: _value(setting, flat.get(name), target, notes) for name, setting in MEMORY_KEYS.items()}
    missing = [name for name in ("backend", "auto_save") if name not in section]
    if missing and "memory" in document and not target.is_modern:
        lacks = f"[memory] has no {' and no '.join(missing)}"
        notes.warn(f"{lacks}; ZeroClaw <= 0.7.5 does not start without it. `zeroclaw onboard` adds it.")
    return effective


def _value(setting: Setting, value: Any, target: Target, notes: Notes) -> Any:
    """Determine the effective value of a setting; `value` is the one in the file, None if there is none."""
    where, default = setting.name, setting.default_for(target)
    is_known = setting.is_known_to(target)
    if value is None:
        if is_known:
            notes.sources.setdefault(where, DEFAULT)
        return default
    expected = setting.expected_type(value)
    if expected:
        notes.sources[where] = DEFAULT
        notes.wrong_type(where, value, expected, "memory", "counts as its default")
        return default
    if not is_known:
        bound = f"from {setting.since} on" if setting.until is None else f"up to {setting.until}"
        notes.warn(f"{where} does nothing here: ZeroClaw reads it {bound} only.", concern_of(where))
    if setting.choices and (value if setting.is_strict else value.strip().lower()) not in setting.choices:
        notes.warn(
            f'{where} is "{shown(value)}" and must be {setting.allowed}; it counts as {default} here.',
            concern_of(where),
        )
        notes.sources[where] = DEFAULT
        return default
    if setting.kind in ("count", "number"):
        low, high = setting.bounds(target.numbers)
        if not (math.isfinite(value) and low <= value <= high):
            notes.warn(
                f"{where} is {value} and should be {setting.allowed}; ZeroClaw uses it as it is.", concern_of(where)
            )
    notes.sources.setdefault(where, FILE)
    return float(value) if setting.kind == "number" else value


class _Key(NamedTuple):
    """An API key as found in its source."""

    text: str
    source: str
    may_be_encrypted: bool


def read_embedding(reader: ConfigReader, memory: Mapping[str, Any]) -> EmbeddingConfig:
    """Resolve the embedding settings with routes and references, and the API key that ZeroClaw would send.

    Order of keys: the route's, memory.embedding_api_key (>= 0.8.2), the provider profile's, the chat provider's.
    ZeroClaw up to 0.7.5 uses the provider's own variable before the chat provider's key.
    """
    target, notes, provider = reader.target, reader.notes, memory["embedding_provider"].strip()
    settings = EmbeddingConfig(provider, memory["embedding_model"].strip(), memory["embedding_dimensions"])
    keys: list[_Key | None] = []
    route = _route(reader, memory)
    if route is not None:
        settings = EmbeddingConfig(route["provider"].strip(), route["model"].strip(), route["dimensions"])
        source = f"{FILE}, [[embedding_routes]]"
        notes.sources["memory.embedding_provider"] = f"{source} {shown(route['hint'].strip())}"
        keys.append(_key(route.get("api_key"), source, may_be_encrypted=target.is_modern))
    if target.is_modern:
        keys.append(_key(memory["embedding_api_key"], notes.sources.get("memory.embedding_api_key", FILE)))
        settings, profile_key = _referenced(settings, reader)
        keys.append(profile_key)
    else:
        variable = _KEY_VARIABLES.get(provider, "")
        keys.append(_key(read_variable(reader.environ, variable), source_of(variable), may_be_encrypted=False))
    keys.append(_chat_key(reader))
    _note_provider(settings, notes)
    key = next(filter(None, keys), None)
    if key is None or not settings.is_on or settings.provider == LOCAL:
        return settings
    plain = reader.decrypt(key.text, "the embedding key") if key.may_be_encrypted else key.text
    if not plain or not plain.strip():
        return settings
    notes.sources["embedding.api_key"] = key.source
    return settings._replace(api_key=plain.strip())


def _key(value: object, source: str, *, may_be_encrypted: bool = True) -> _Key | None:
    return _Key(value.strip(), source, may_be_encrypted) if isinstance(value, str) and value.strip() else None


def _chat_key(reader: ConfigReader) -> _Key | None:
    """Find the chat provider's key, which ZeroClaw sends if embeddings have no key of their own."""
    environ, schema = reader.environ, reader.target.schema
    if reader.target.is_modern:
        for agent in reader.table("agents").values():
            reference = agent.get("model_provider") if isinstance(agent, dict) else None
            profile = _profile(reader, reference) if isinstance(reference, str) else {}
            key = _key(profile.get("api_key"), f"{FILE}, the agent's model provider")
            if key is not None:
                return key
    else:
        # The first variable that is set counts, even if it is empty.
        variable = "ZEROCLAW_API_KEY" if "ZEROCLAW_API_KEY" in environ else "API_KEY"
        if environ.get(variable):
            return _key(environ[variable], source_of(variable), may_be_encrypted=False)
    if schema == 1:
        return _key(reader.document.get("api_key"), f"{FILE}, api_key")
    name = reader.table("providers").get("fallback") if schema == 2 else None
    profile = reader.table("providers", "models", name) if isinstance(name, str) else {}
    return _key(profile.get("api_key"), f"{FILE}, the chat provider's api_key")


def _route(reader: ConfigReader, memory: Mapping[str, Any]) -> dict[str, Any] | None:
    """Find the embedding route selected by `hint:<name>`; None if there is none or it cannot be used."""
    model, notes = memory["embedding_model"], reader.notes
    hint = model.removeprefix(_HINT).strip() if model.startswith(_HINT) else ""
    if not hint:
        return None
    route = next((route for route in _routes(reader) if route.get("hint", "").strip() == hint), None)
    if route is None:
        notes.warn(
            f'No embedding route has the hint "{shown(hint)}"; the [memory] values are used, as ZeroClaw does.',
            "vectors",
        )
        return None
    provider = route.get("model_provider", route.get("provider", ""))
    dimensions = route.get("dimensions", memory["embedding_dimensions"])
    if not provider.strip() or not route.get("model", "").strip() or dimensions == 0:
        notes.warn(
            f'The embedding route "{shown(hint)}" lacks a provider, a model or dimensions; the [memory] values are '
            "used, as ZeroClaw does.",
            "vectors",
        )
        return None
    return {**route, "provider": provider, "dimensions": dimensions}


def _routes(reader: ConfigReader) -> list[dict[str, Any]]:
    """Read all routes: at the top level, but below `providers` in schema 2."""
    target, notes = reader.target, reader.notes
    table = reader.table("providers") if target.schema == 2 and not target.is_modern else reader.document
    routes = table.get("embedding_routes", [])
    if not isinstance(routes, list) or not all(isinstance(route, dict) for route in routes):
        notes.wrong_type("embedding_routes", routes, "an array of tables", "embedding_routes", "is left out")
        return []
    checked = []
    for route in routes:
        read = {name: notes.value(route, name, kind, f"embedding_routes.{name}") for name, kind in _ROUTE_KEYS.items()}
        checked.append({name: value for name, value in read.items() if value is not None})
    return checked


def _referenced(settings: EmbeddingConfig, reader: ConfigReader) -> tuple[EmbeddingConfig, _Key | None]:
    """Resolve a `<type>.<alias>` of ZeroClaw >= 0.8.0 by its profile under [providers.models]."""
    name = settings.provider
    if name.startswith(_CUSTOM) or "." not in name:
        return settings, None
    profile = _profile(reader, name)
    kind, uri = name.partition(".")[0], profile.get("uri")
    if isinstance(uri, str) and uri.strip():
        provider = f"{_CUSTOM}{uri.strip()}"
    elif profile and kind in _HOSTED:
        provider = kind
    else:
        why = "has no uri" if profile else "is not under [providers.models]"
        reader.notes.warn(f"The embedding provider {shown(name)} {why}; ZeroClaw makes no vectors with it.", "vectors")
        return settings._replace(provider="none"), None
    key = _key(profile.get("api_key"), f"{FILE}, [providers.models.{shown(name)}]")
    return settings._replace(provider=provider), key


def _profile(reader: ConfigReader, reference: str) -> dict[str, Any]:
    kind, _, alias = reference.strip().partition(".")
    aliases = reader.table("providers", "models").get(kind)
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


def store_to_confirm(config: MemoryConfig) -> str | None:
    """The name for `settings.confirm_store`, if the store is read-only until it is confirmed; else None."""
    name = None if is_url(config.location) else _foreign_name(config.storage, config.sources)
    return None if name is None or name in confirmed_stores(config.install) else name


def _foreign_name(storage: Mapping[str, Any], sources: Mapping[str, str]) -> str | None:
    if sources.get("storage.db_url") != source_of(SHARED_DB_URL):
        return None
    table = f"{storage.get('schema', 'public')}.{storage.get('table', 'memories')}"
    return f"{without_password(str(storage['db_url']))} {table}"
