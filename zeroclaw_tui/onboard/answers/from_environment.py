"""Answers that lie in the environment: ZeroClaw's own variables, and those that people set for this program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from zeroclaw_tui.config.environment import (
    OTHERS_DB_URL,
    OUR_DB_URLS,
    STORAGE_DB_URL,
    STORAGE_PROVIDER,
    STORAGE_TIMEOUT,
    given,
    lucid_settings,
    parsed,
    source_of,
)
from zeroclaw_tui.config.notes import Notes
from zeroclaw_tui.config.setting_names import (
    SETTINGS,
    Target,
    checked_value,
    environment_variable,
    is_read,
    parsed_value,
)
from zeroclaw_tui.config.setting_table import DAYS_BY_CATEGORY, LUCID_ENVIRONMENT
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.onboard.answers.given import Given

BACKEND_VARIABLE = "ZEROCLAW_memory__backend"
_GENERIC = re.compile(r"ZEROCLAW_(memory|storage)__([a-z0-9_]+)")
_DB_URL = "storage.postgres.db_url"
_TIMEOUT = "storage.postgres.connect_timeout_secs"
_QDRANT = {
    "storage.qdrant.url": "QDRANT_URL",
    "storage.qdrant.collection": "QDRANT_COLLECTION",
    "storage.qdrant.api_key": "QDRANT_API_KEY",
}


def backend_in_environment(environ: Mapping[str, str], target: Target) -> Given | None:
    """The backend that the variable of this generation names, not yet checked; None when it is not set."""
    variable = BACKEND_VARIABLE if target.is_modern else STORAGE_PROVIDER
    text = given(environ, variable)
    return _answer(text, variable) if text else None


def settings_in_environment(environ: Mapping[str, str], target: Target, kind: str, alias: str) -> dict[str, Given]:
    """What the environment says about memory and about the store of one backend; nothing about other stores.

    Raises WrongUse for a value of `ZEROCLAW_memory__…` or `ZEROCLAW_storage__…` (>= 0.8.0) that cannot be read, for
    then ZeroClaw itself does not start, and for bytes that are no text; names that lead nowhere and old variables of a
    wrong type are told elsewhere.
    """
    answers = dict(_generic(environ, kind, alias)) if target.is_modern else {}
    if kind == "postgres":
        answers = dict(_postgres(environ, target)) | answers
    elif kind == "qdrant":
        answers = {name: _answer(given(environ, variable), variable) for name, variable in _QDRANT.items()} | answers
    elif kind == "lucid":
        answers = dict(_lucid(environ)) | answers
    return {
        name: _checked(name, answer, target)
        for name, answer in answers.items()
        if answer.value != "" and (is_read(name, target) or environment_variable(name, target))
    }


def others_database(environ: Mapping[str, str]) -> Given | None:
    """The database that DATABASE_URL names, which is often another program's; None unless it is PostgreSQL. Raises
    WrongUse for bytes that are no text."""
    text = given(environ, OTHERS_DB_URL)
    is_postgres = text.startswith(("postgres://", "postgresql://"))
    return _checked(_DB_URL, _answer(text, OTHERS_DB_URL), None) if is_postgres else None


def _answer(value: object, variable: str) -> Given:
    return Given(value, "environment", source_of(variable))


def _checked(name: str, answer: Given, target: Target | None) -> Given:
    version = None if target is None else target.reading_version
    try:
        return replace(answer, value=checked_value(name, answer.value, version))
    except WrongUse as problem:
        raise WrongUse(
            f"The {answer.told.replace(' ', ' variable ', 1)} cannot be used: {problem.message}",
            hint="Put it right or unset it.",
        ) from problem


def _generic(environ: Mapping[str, str], kind: str, alias: str) -> Iterator[tuple[str, Given]]:
    for variable in sorted(environ):
        matched = _GENERIC.fullmatch(variable)
        if matched is None or variable == BACKEND_VARIABLE:
            continue
        section, path = matched.group(1), matched.group(2).split("__")
        is_for_us = section == "memory"
        if section == "storage" and len(path) == 3:
            is_for_us = path[:2] == [kind, alias]
            path = [path[0], path[2]]
        name = ".".join((section, *path))
        if name in SETTINGS and not name.startswith(DAYS_BY_CATEGORY):
            value = _parsed(name, variable, environ[variable])
            if is_for_us:
                yield name, _answer(value, variable)


def _parsed(name: str, variable: str, text: str) -> object:
    try:
        return parsed_value(name, text)
    except WrongUse as problem:
        raise WrongUse(
            f"The environment variable {variable} cannot be read: {problem.message}",
            hint="Put it right or unset it; ZeroClaw >= 0.8.0 does not start with it.",
        ) from problem


def _postgres(environ: Mapping[str, str], target: Target) -> Iterator[tuple[str, Given]]:
    variables = OUR_DB_URLS if target.is_modern else (STORAGE_DB_URL, *OUR_DB_URLS)
    variable = next((variable for variable in variables if given(environ, variable)), None)
    if variable:
        yield _DB_URL, _answer(given(environ, variable), variable)
    seconds = parsed("count", given(environ, STORAGE_TIMEOUT))
    if seconds and not target.is_modern:
        # ZeroClaw itself never waits longer.
        yield _TIMEOUT, _answer(min(seconds, 300), STORAGE_TIMEOUT)


def _lucid(environ: Mapping[str, str]) -> Iterator[tuple[str, Given]]:
    settings = lucid_settings(environ, Notes())
    for name, variable in LUCID_ENVIRONMENT.items():
        key = name.removeprefix("storage.lucid.")
        if key in settings:
            yield name, _answer(settings[key], variable)
