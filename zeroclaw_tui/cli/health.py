"""The verb health: the state of the store and the settings in effect."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, NOTHING, RED, Line, Styled, print_result, runnable, table
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.errors import DONE, NOT_REACHABLE, REFUSED, InspectorError
from zeroclaw_tui.memory.text import HIDDEN, mask_secrets, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.backends.health import Health
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.library import Library

_NOT_SETTINGS = (
    "install", "embedding", "agents", "agent_workspaces", "location", "read_only", "read_only_because", "storage",
    "values", "sources", "warnings", "concerns", "alias", "zeroclaw_backend", "schema",
)  # fmt: skip
_DEFAULT = "default"


@verb(
    "health",
    "{backend, location, chosen, ok, summary, findings, facts, generation, profile, profile_source, newer_version,"
    " config}",
    opens="config",
    examples=("health", "health --json"),
)
async def health(configs: Sequence[MemoryConfig], args: argparse.Namespace) -> int:
    """Print the health of the store. Exit code 1 if it answers but something is wrong, 3 if it does not answer."""
    from zeroclaw_tui.backends.about import sentences
    from zeroclaw_tui.backends.health import Health
    from zeroclaw_tui.config.settings import settings_problem
    from zeroclaw_tui.curation.library import open_library
    from zeroclaw_tui.curation.trial_settings import reload_config

    config, library = configs[0], None
    try:
        library = await open_library(config, args.profile, may_be_missing=True)
        health = await library.memory.health()
        code = DONE if health.ok else REFUSED
    except InspectorError as error:
        # SQLite notices damage deep in a file only when its rows are read.
        if error.exit_code != NOT_REACHABLE:
            raise
        health, code = Health(False, error.message, (error.hint,) if error.hint else ()), NOT_REACHABLE
    finally:
        if library is not None:
            await library.close()
    if library is not None:
        # The ZeroClaw version, and so the keys that apply, is known only after opening the store.
        reloaded = reload_config(config, version=library.profile.profile.version)
        own = settings_problem(config.install)
        config = config._replace(warnings=(*reloaded.warnings, *([own] if own else [])))
        findings = dict.fromkeys((*sentences(library.memory.about.notices), *health.findings))
        health = Health(health.ok, health.summary, tuple(findings), health.facts)
    document = _health_document(health, library, config)
    print_result(args, document, _health_lines(document, config))
    return code


def effective_settings(config: MemoryConfig) -> dict[str, dict[str, Any]]:
    """The memory settings by their keys in config.toml, each with value and source; secrets masked."""
    from zeroclaw_tui.config.memory_config import OPTION

    embedding = ("provider", "model", "dimensions", "api_key")
    effective = {f"memory.{name}": value for name, value in config._asdict().items() if name not in _NOT_SETTINGS}
    effective |= {f"memory.embedding_{name}": getattr(config.embedding, name) for name in embedding}
    effective |= {f"storage.{name}": value for name, value in config.storage.items()}
    effective = {f"memory.{name}": value for name, value in config.values.items()} | effective
    sources = {key: config.sources.get(key, _DEFAULT) for key in effective}
    if config.location is not None:
        effective["location"], sources["location"] = config.location, OPTION
    return {key: {"value": _masked(key, value), "source": sources[key]} for key, value in effective.items()}


def _masked(key: str, value: Any) -> Any:
    from zeroclaw_tui.config.masking import is_secret_name

    if isinstance(value, dict):
        return {name: _masked(str(name), item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(key, item) for item in value]
    if value and isinstance(value, str):
        return HIDDEN if is_secret_name(key.rpartition(".")[2]) else mask_secrets(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _health_document(found: Health, library: Library | None, config: MemoryConfig) -> dict[str, Any]:
    """The JSON document; without a library it has only facts of the config."""
    from zeroclaw_tui.curation.config_choice import describe_choice

    backend, location = store_place(config, library)
    profile = None if library is None else library.profile
    return {
        "backend": backend,
        "location": location or None,
        "chosen": describe_choice(config),
        "ok": found.ok,
        "summary": found.summary,
        "findings": [*found.findings, *config.warnings],
        "facts": dict(found.facts),
        "generation": None if library is None else library.memory.about.generation,
        "profile": None if profile is None else profile.profile.version,
        "profile_source": None if profile is None else profile.source,
        "newer_version": None if profile is None else profile.profile.newer,
        "config": effective_settings(config),
    }


def store_place(config: MemoryConfig, library: Library | None) -> tuple[str, str]:
    """The backend and its location without password, from the config if the store does not open."""
    from zeroclaw_tui.backends.factory import create_memory, known_backend

    if library is not None:
        return library.memory.name, mask_secrets(library.memory.about.location)
    if known_backend(config.backend).has_database:
        return config.backend, mask_secrets(str(config.database))
    with suppress(InspectorError):
        return config.backend, mask_secrets(create_memory(config).about.location)
    return config.backend, mask_secrets(config.location or "")


def _health_lines(shown: Mapping[str, Any], config: MemoryConfig) -> Iterator[Line]:
    """Yield a verdict, the findings, and in two columns the facts and the settings that are not defaults."""
    mark = Styled("✓", GREEN) if shown["ok"] else Styled("✗", RED)
    yield (mark, " ", Styled(one_line(shown["summary"]), BOLD))
    for finding in shown["findings"]:
        yield ("  – ", runnable(one_line(finding)))
    yield ()
    file = config.install.config_file
    missing = "" if file is None or file.exists() else " (missing; ZeroClaw's defaults apply)"
    facts = {
        "backend": shown["backend"],
        "location": shown["location"],
        "backend chosen": shown["chosen"],
        "chosen by": config.install.rule,
        "generation": shown["generation"],
        "scoring": f"{shown['profile']} ({shown['profile_source']})" if shown["profile"] else None,
        "config": "none (standalone store)" if file is None else f"{file}{missing}",
    }
    # Findings above describe a wrong shape or index; without one these facts are None.
    others = {name: value for name, value in shown["facts"].items() if value is not None}
    facts |= {name: value for name, value in others.items() if value != shown["location"]}
    for key, setting in shown["config"].items():
        if setting["source"] != _DEFAULT:
            facts[key] = f"{_format_value(setting['value'])} ({setting['source']})"
    yield from table([[Styled(name, DIM), _format_value(value)] for name, value in facts.items()], indent="  ")


def _format_value(value: Any) -> str:
    """Format the value of a fact."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_format_value(item)}" for name, item in value.items()) or NOTHING
    if isinstance(value, list | tuple):
        return ", ".join(map(_format_value, value)) or NOTHING
    return str(value)
