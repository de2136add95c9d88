"""From an install, its config.toml, the environment and the options to one MemoryConfig."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.config.confirming import must_be_read_only
from zeroclaw_tui.config.embedding import read_embedding
from zeroclaw_tui.config.environment import OTHERS_DB_URL, OUR_DB_URLS, apply_generic
from zeroclaw_tui.config.form import Form, form_of, to_third_schema
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.memory_section import read_memory
from zeroclaw_tui.config.notes import Notes, shown
from zeroclaw_tui.config.secrets import SecretUnreadable, reveal
from zeroclaw_tui.config.storage import Backend, Reveal, choose_backend, read_storage, tell_unknown_storage
from zeroclaw_tui.config.toml_file import read_toml
from zeroclaw_tui.config.validation import is_validated_range, violations

if TYPE_CHECKING:
    from zeroclaw_tui.config.install import Install

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
