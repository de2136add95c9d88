"""`memory health`: whether the store answers, what is wrong with it, and which settings hold."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from zeroclaw_tui.backends.factory import chosen_line, create_memory, has_database, shadowed_sentences
from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, NOTHING, RED, Line, Styled, document, width, write_lines
from zeroclaw_tui.config.locations import is_url, without_password
from zeroclaw_tui.config.masking import is_secret_name, masked_text
from zeroclaw_tui.config.memory_config import OPTION, MemoryConfig
from zeroclaw_tui.config.settings import settings_problem
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.setting_change import config_as_it_is
from zeroclaw_tui.memory.errors import DONE, NOT_REACHABLE, REFUSED, InspectorError
from zeroclaw_tui.memory.text import HIDDEN, cells, cut, mask_secrets, one_line, padded

_NOT_SETTINGS = (
    "install",
    "embedding",
    "agents",
    "agent_workspaces",
    "location",
    "read_only",
    "read_only_because",
    "storage",
    "values",
    "sources",
    "warnings",
    "concerns",
)
_DEFAULT = "default"
_MENDS = "{} `zeroclaw memory doctor --repair {}` changes that."


async def health(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Print the health of the store; exit code 1 when it answers but something is wrong, 3 when it does not."""
    try:
        library = await open_library(configs[0], given.profile, may_be_missing=True)
    except InspectorError as error:
        _tell(given, _not_reachable(error), _unopened(configs[0]), configs)
        return NOT_REACHABLE
    try:
        found = await library.memory.health()
        code = DONE if found.ok else REFUSED
        mending = {
            finding: _MENDS.format(finding, repair.name.replace(" ", "-")) for finding, repair in found.repairs.items()
        }
        found = replace(found, findings=tuple(mending.get(finding, finding) for finding in found.findings))
    except InspectorError as error:
        # Damage deep in a file shows only when its rows are read.
        found, code = _not_reachable(error), NOT_REACHABLE
    finally:
        await library.close()
    findings = tuple(dict.fromkeys((*library.memory.notices, *found.findings)))
    # Only now is it known which ZeroClaw reads the config, and so which of its keys count.
    judged = config_as_it_is(configs[0], version=library.profile.profile.version)
    own = settings_problem(configs[0].install)
    shown = configs[0]._replace(warnings=(*judged.warnings, *([own] if own else [])))
    health = Health(found.ok, found.summary, findings, found.facts)
    _tell(given, health, _opened(library), (shown, *configs[1:]))
    return code


def _not_reachable(error: InspectorError) -> Health:
    """What keeps the store from answering, as its health. Raises any other error again."""
    if error.exit_code != NOT_REACHABLE:
        raise error
    return Health(False, error.message, (error.hint,) if error.hint else ())


def settings_shown(config: MemoryConfig) -> dict[str, dict[str, Any]]:
    """Every setting of memory, by its key in config.toml, with its value and source; secrets masked."""
    effective = {
        f"memory.{name}": value
        for name, value in config._asdict().items()
        if name not in _NOT_SETTINGS and name not in ("alias", "zeroclaw_backend", "schema")
    }
    embedding = config.embedding
    effective |= {
        "memory.embedding_provider": embedding.provider,
        "memory.embedding_model": embedding.model,
        "memory.embedding_dimensions": embedding.dimensions,
        "memory.embedding_api_key": embedding.api_key,
    }
    effective |= {f"storage.{name}": value for name, value in config.storage.items()}
    if config.location is not None:
        effective["location"] = config.location
    for name, value in config.values.items():
        effective.setdefault(f"memory.{name}", value)
    return {
        key: {
            "value": _masked(key, value),
            "source": OPTION if key == "location" else config.sources.get(key, _DEFAULT),
        }
        for key, value in effective.items()
    }


def _tell(given: argparse.Namespace, found: Health, about: dict[str, Any], configs: Sequence[MemoryConfig]) -> None:
    config = configs[0]
    findings = (*found.findings, *config.warnings, *shadowed_sentences())
    if given.json:
        document(
            {
                "backend": about["backend"],
                "location": about["location"],
                "chosen": chosen_line(config),
                "ok": found.ok,
                "summary": found.summary,
                "findings": list(findings),
                "facts": dict(found.facts),
                "generation": about["generation"],
                "profile": about["profile"],
                "profile_source": about["profile_source"],
                "newer_version": about["newer_version"],
                "config": settings_shown(config),
                "installs": [_install(each, chosen=each is config) for each in configs],
            }
        )
    else:
        where = _where(about, config)
        more = {name: value for name, value in found.facts.items() if value != where["location"]}
        facts = {**where, **_others(configs), **more, **_set_by_hand(config)}
        write_lines(health_lines(Health(found.ok, found.summary, findings), facts))


def _opened(library: Library) -> dict[str, Any]:
    return {
        "backend": library.memory.name,
        "location": library.memory.location,
        "generation": library.memory.generation,
        "profile": library.profile.profile.version,
        "profile_source": library.profile.source,
        "newer_version": library.profile.profile.newer,
    }


def _unopened(config: MemoryConfig) -> dict[str, Any]:
    is_file = has_database(config.backend)
    location = str(config.database) if is_file else _address(config)
    return {
        "backend": config.backend,
        "location": location or None,
        "generation": None,
        "profile": None,
        "profile_source": None,
        "newer_version": None,
    }


def _address(config: MemoryConfig) -> str:
    """Where a store lies that did not open, without any password."""
    with suppress(InspectorError, AttributeError):
        return create_memory(config).location
    named = config.location or config.storage.get("db_url") or config.storage.get("url") or ""
    return without_password(named) if is_url(named) else masked_text(named)


def _install(config: MemoryConfig, *, chosen: bool) -> dict[str, Any]:
    install = config.install
    return {
        "config_dir": str(install.config_dir) if install.config_dir else None,
        "root": str(install.root),
        "database": str(install.database),
        "layout": install.layout,
        "rule": install.rule,
        "chosen": chosen,
    }


def _where(about: dict[str, Any], config: MemoryConfig) -> dict[str, Any]:
    scoring = f"{about['profile']} ({about['profile_source']})" if about["profile"] else None
    file = config.install.config_file
    if file is None:
        told = "none: a store on its own"
    else:
        told = str(file) if file.exists() else f"{file} (not there; ZeroClaw's defaults hold)"
    return {
        "backend": about["backend"],
        "location": about["location"],
        "backend chosen": chosen_line(config),
        "chosen by": config.install.rule,
        "generation": about["generation"],
        "scoring": scoring,
        "config": told,
    }


def _others(configs: Sequence[MemoryConfig]) -> dict[str, str]:
    others = [f"{config.install.root} ({config.install.rule})" for config in configs[1:]]
    return {"could be meant as well": ", ".join(others)} if others else {}


def _set_by_hand(config: MemoryConfig) -> dict[str, str]:
    """The settings that do not come from ZeroClaw's defaults."""
    return {
        key: f"{value_shown(told['value'])} ({told['source']})"
        for key, told in settings_shown(config).items()
        if told["source"] != _DEFAULT
    }


def _masked(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _masked(str(name), item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(key, item) for item in value]
    if value and isinstance(value, str):
        return HIDDEN if is_secret_name(key.rpartition(".")[2]) else masked_text(mask_secrets(value))
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def health_lines(health: Health, facts: Mapping[str, Any]) -> Iterator[Line]:
    """A verdict, what was found, and the facts in two columns."""
    mark = Styled("✓", GREEN) if health.ok else Styled("✗", RED)
    yield (mark, " ", Styled(one_line(health.summary), BOLD))
    for finding in health.findings:
        yield ("  – ", one_line(finding))
    yield ()
    names = [one_line(str(name)) for name in facts]
    left = max(map(cells, names), default=0)
    for name, value in zip(names, facts.values(), strict=True):
        shown = one_line(value_shown(value))
        is_list = isinstance(value, list | tuple)
        yield (
            "  ",
            Styled(padded(name, left), DIM),
            "  ",
            cut(shown, max(20, width() - left - 4)) if is_list else shown,
        )


def value_shown(value: Any) -> str:
    """A fact's value in words."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {value_shown(item)}" for name, item in value.items()) or NOTHING
    if isinstance(value, list | tuple):
        return ", ".join(map(value_shown, value)) or NOTHING
    return str(value)
