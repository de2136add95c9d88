"""Who turns texts into vectors: the [memory] keys, embedding routes, provider references, and whose key is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from zeroclaw_tui.config.environment import given, source_of
from zeroclaw_tui.config.form import Form
from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.config.notes import FILE, Notes, shown
from zeroclaw_tui.config.schema import Kind
from zeroclaw_tui.config.storage import Reveal

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
    _tell_provider(settings, notes)
    chosen = next((key for key in (*keys, *inherited) if key is not None), None)
    return _with_key(settings, chosen, notes, reveal)


def _with_key(settings: EmbeddingConfig, key: _Key | None, notes: Notes, reveal: Reveal) -> EmbeddingConfig:
    if key is None or not settings.is_on or settings.provider == LOCAL:
        return settings
    plain = reveal(key.text, "the embedding key") if key.may_be_sealed else key.text
    if not plain or not plain.strip():
        return settings
    notes.sources["embedding.api_key"] = key.source
    return replace(settings, api_key=plain.strip())


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
    return replace(
        settings, provider=route["provider"].strip(), model=route["model"].strip(), dimensions=route["dimensions"]
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
        return replace(settings, provider="none"), None
    key = _plain_key(profile.get("api_key"), f"{FILE}, [providers.models.{shown(name)}]")
    return replace(settings, provider=provider), key


def _profile(document: Mapping[str, Any], reference: str, notes: Notes) -> dict[str, Any]:
    kind, _, alias = reference.strip().partition(".")
    aliases = notes.table(document, "providers", "models").get(kind)
    profile = aliases.get(alias) if isinstance(aliases, dict) else None
    return profile if isinstance(profile, dict) else {}


def _tell_provider(settings: EmbeddingConfig, notes: Notes) -> None:
    name = settings.provider
    if name == LOCAL:
        notes.warn(
            'The embedding provider "local" is this program\'s own; ZeroClaw does not know it and makes no vectors.',
            "vectors",
        )
    elif name not in ("", "none", *_HOSTED) and not name.startswith(_CUSTOM):
        notes.warn(f'ZeroClaw does not know the embedding provider "{shown(name)}" and makes no vectors.', "vectors")
