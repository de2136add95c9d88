"""The sentences about a plan: what is lost, what is deleted earlier, and what overrides it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zeroclaw_tui.backends.factory import known_backend
from zeroclaw_tui.config.locations import command_at
from zeroclaw_tui.config.schema import DAYS_BY_CATEGORY, SETTINGS
from zeroclaw_tui.config.setting_names import BACKEND, variable_of
from zeroclaw_tui.config.storage import read_variable
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.onboard.answers import (
    AUTO_SAVE,
    BACKEND_TITLES,
    DB_URL,
    PROFILE_SETTINGS,
    PROVIDER_SETTING,
    Answers,
    backend_defaults,
    shortens_retention,
)
from zeroclaw_tui.onboard.situation import Situation
from zeroclaw_tui.onboard.wanted import PROVIDER, in_force, is_same

_HYGIENE = "memory.hygiene_enabled"
_WHY_NO_HYGIENE = {
    "postgres": "ZeroClaw has none for PostgreSQL",
    "qdrant": "ZeroClaw has none for Qdrant",
    "lucid": "lucid would still have what it deletes here",
    "markdown": "it would archive and delete daily files",
    "none": "nothing is stored",
}
_VECTOR_SETTINGS = (PROVIDER_SETTING, "memory.embedding_model", "memory.embedding_dimensions")


def notes_of(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> tuple[str, ...]:
    """The sentences about a plan, the most important first.

    `after` has all wanted settings, decrypted, and `changed` the names of those that differ from the file.
    """
    return (
        *_of_the_switch(answers, after, changed),
        *_of_retention(answers, after, changed),
        *_of_vectors(answers, after, changed),
        *_of_postgres(answers, after, changed),
        *_of_the_environment(answers, changed),
    )


def is_switched(answers: Answers, changed: frozenset[str]) -> bool:
    """Whether the kind of backend changes."""
    return bool({BACKEND, PROVIDER} & changed) and answers.backend() != answers.situation.backend


def may_hold_memories(situation: Situation) -> bool:
    """Whether the backend in use may have memories; a server may always, as it is not queried."""
    kind = situation.backend
    is_remote = kind in ("postgres", "qdrant")
    return kind in BACKEND_TITLES and not known_backend(kind).keeps_nothing and (is_remote or bool(situation.found))


def _of_the_switch(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    """The consequences of another backend for existing memories, for hygiene, and for the settings of its profile."""
    old, new = answers.situation.backend, answers.backend()
    if not is_switched(answers, changed):
        return
    if may_hold_memories(answers.situation):
        if known_backend(old).has_database and known_backend(new).has_database:
            yield "The memories stay in use because SQLite and Lucid share one database."
        else:
            yield f"The memories in {BACKEND_TITLES[old]} are not moved, and no longer recalled."
    followed = [name for name in PROFILE_SETTINGS if name in changed and name not in answers.given]
    if _HYGIENE in followed and after[_HYGIENE] is False and new in _WHY_NO_HYGIENE:
        yield f"Hygiene is turned off because {_WHY_NO_HYGIENE[new]}."
    if followed and not answers.situation.is_new:
        values = ", ".join(f"{name.removeprefix('memory.')} = {str(after[name]).lower()}" for name in followed)
        yield f"Switching the backend also sets {values}."
    wished = [name for name in (AUTO_SAVE, _HYGIENE) if backend_defaults(new).get(name) and name not in answers.given]
    off = [name.removeprefix("memory.") for name in wished if not answers.value(name)]
    if off:
        command = command_at(answers.situation.install, answers.situation.environ, "zeroclaw onboard")
        yield (
            f"Still off, unlike the defaults of {BACKEND_TITLES[new]}: {', '.join(off)}. To turn on: "
            f"`{command} --set {'=true --set '.join(off)}=true`."
        )


def _of_retention(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    """What will be deleted earlier because of an answer."""
    for name in sorted(changed & set(answers.given)):
        before = in_force(answers, name)
        if before is None and name.startswith(DAYS_BY_CATEGORY):
            # The category's own setting applies if the table of days has none for it.
            category = name.removeprefix(f"{DAYS_BY_CATEGORY}.")
            before = in_force(answers, f"memory.{category}_retention_days")
        if not shortens_retention(name, before, after[name]):
            continue
        if name == _HYGIENE:
            yield "Hygiene is turned on. ZeroClaw archives and deletes old memories the next time it starts."
        else:
            yield (
                f"{name} changes from {_days(before)} to {_days(after[name])}. With hygiene on, ZeroClaw deletes what "
                "is older the next time it starts."
            )


def _of_vectors(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    provider = answers.value(PROVIDER_SETTING)
    is_off = provider in (None, "", "none")
    if answers.backend() == "qdrant" and BACKEND in changed and is_off:
        yield "Qdrant stores nothing without an embedding provider, and memory.embedding_provider is none."
    differing = [
        name for name in _VECTOR_SETTINGS if name in changed and not is_same(after[name], in_force(answers, name))
    ]
    if differing and answers.situation.has_vectors and not (is_off and PROVIDER_SETTING in changed):
        yield (
            f"The stored embeddings no longer fit after changing {', '.join(differing)}. Create new ones with "
            "`zeroclaw memory reindex` (ZeroClaw 0.7.5 and later)."
        )


def _of_postgres(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    if answers.backend() == "postgres" and BACKEND in changed:
        yield "PostgreSQL needs a ZeroClaw built with the feature memory-postgres. Not every build has it."
    url = str(after.get(DB_URL) or "")
    if DB_URL not in changed or not url.startswith(("postgres://", "postgresql://")):
        return
    user, at, _ = url.partition("://")[2].rpartition("@")
    if not (at and ":" in user) and "password=" not in url.partition("?")[2]:
        yield (
            "The database URL has no password. ZeroClaw reads neither PGPASSWORD nor ~/.pgpass, so the server must "
            "accept this user without one."
        )


def _of_the_environment(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    """The variables that override written settings, and answers that the file has already."""
    situation = answers.situation
    for name in sorted((changed & set(SETTINGS)) | set(answers.given)):
        variable = variable_of(name, situation.target, answers.alias())
        fills = SETTINGS[name].variable_fills and not situation.target.is_modern
        if variable and not fills and read_variable(situation.environ, variable):
            yield f"The environment variable {variable} is set and overrides {name}."


def _days(value: Any) -> str:
    return "0 (never)" if not value else counted(value, "day")
