"""The sentences about a plan: what stays and why, what is lost, what overrides it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zeroclaw_tui.backends.factory import has_database, keeps_nothing
from zeroclaw_tui.config.schema import (
    DAYS_BY_CATEGORY,
    SETTINGS,
)
from zeroclaw_tui.config.setting_names import (
    BACKEND,
    parsed_value,
    variable_of,
)
from zeroclaw_tui.config.storage import given
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.onboard.answers import (
    AUTO_SAVE,
    BACKEND_TITLES,
    DB_URL,
    PROFILE_SETTINGS,
    Answers,
    is_tightened,
)
from zeroclaw_tui.onboard.situation import Situation
from zeroclaw_tui.onboard.wanted import PROVIDER, in_force, is_backend_asked, is_same, needed_settings

_HYGIENE = "memory.hygiene_enabled"
_WHY_NO_HYGIENE = {
    "postgres": "Hygiene is turned off because ZeroClaw has none for PostgreSQL.",
    "qdrant": "Hygiene is turned off because ZeroClaw has none for Qdrant.",
    "lucid": "Hygiene is turned off because lucid would still have what it deletes here.",
    "markdown": "Hygiene is turned off so that no daily file is archived or deleted.",
    "none": "Hygiene is turned off because nothing is stored.",
}
_REMOTE = ("postgres", "qdrant")
_VECTOR_SETTINGS = ("memory.embedding_provider", "memory.embedding_model", "memory.embedding_dimensions")


def notes_of(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> tuple[str, ...]:
    """The sentences about a plan, the weightiest first. `after` has each setting that was wanted with its value in
    plain text, `changed` the names of those that differ from the file."""
    notes = [
        *_of_the_switch(answers, changed),
        *_of_unasked_keys(answers, changed),
        *_of_hygiene(answers, after, changed),
        *_not_followed(answers),
        *_asked_retention(answers, after, changed),
        *_of_vectors(answers, after, changed),
        *_of_the_backend(answers, changed),
        *_of_missing_password(answers, after, changed),
        *_of_another_store(answers, changed),
        *_taken_from_environment(answers, changed),
        *_overridden(answers, after),
    ]
    return tuple(dict.fromkeys(notes))


def is_switched(answers: Answers, changed: frozenset[str]) -> bool:
    """Whether another kind of backend is written."""
    return bool({BACKEND, PROVIDER} & changed) and answers.backend() != answers.situation.backend


def _of_the_switch(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    old, new = answers.situation.backend, answers.backend()
    if not is_switched(answers, changed) or not may_hold_memories(answers.situation):
        return
    if has_database(old) and has_database(new):
        yield "The memories stay in use because SQLite and Lucid share one database."
    else:
        yield f"The memories in {BACKEND_TITLES[old]} are not moved, and no longer recalled."


def may_hold_memories(situation: Situation) -> bool:
    """True where the backend in use may have memories: a server is not asked."""
    is_remote = situation.backend in _REMOTE
    return (
        situation.backend in BACKEND_TITLES
        and not keeps_nothing(situation.backend)
        and (is_remote or bool(situation.found))
    )


def _of_unasked_keys(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    """Why unrequested keys are added to an existing file."""
    if answers.situation.is_new:
        return
    if answers.writes_defaults():
        if answers.situation.has_no_key:
            title = BACKEND_TITLES[answers.backend()]
            yield f"config.toml has no settings yet, so all defaults for {title} are added."
        return
    unasked = [name for name in needed_settings(answers) if name in changed and not answers.is_asked(name)]
    if unasked:
        keys = _listed([name.removeprefix("memory.") for name in unasked])
        are, them = ("is", "it") if len(unasked) == 1 else ("are", "them")
        fails = "0.8.0 ignores a [memory]" if answers.situation.target.is_modern else "up to 0.7.5 does not start"
        yield f"{keys} {are} added because ZeroClaw {fails} without {them}."


def _of_hygiene(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    if not is_switched(answers, changed) or answers.situation.is_new:
        return
    is_off = after.get(_HYGIENE) is False and in_force(answers, _HYGIENE) is not False
    if is_off and _HYGIENE not in answers.given and answers.backend() in _WHY_NO_HYGIENE:
        yield _WHY_NO_HYGIENE[answers.backend()]
    followed = [
        name
        for name in PROFILE_SETTINGS
        if name in after and name not in answers.given and not is_same(after[name], in_force(answers, name))
    ]
    if followed:
        values = ", ".join(f"{name.removeprefix('memory.')} = {_shown(after[name])}" for name in followed)
        yield f"Switching the backend also sets {values}."


def _not_followed(answers: Answers) -> Iterator[str]:
    """What the profile would turn on or shorten, and the plan does not, because it was not requested."""
    for name in PROFILE_SETTINGS if answers.changes_backend() else ():
        if name in answers.given:
            continue
        value, wished = answers.value(name), answers.proposed(name)
        if name == AUTO_SAVE and wished and not value:
            yield f"auto_save stays off. `--set {name}=true` turns it on."
        if not is_tightened(name, value, wished):
            continue
        if name == _HYGIENE:
            yield f"Hygiene stays off because it deletes old memories. `--set {name}=true` turns it on."
        else:
            yield f"{name} stays at {_days(value)}. `--set {name}={wished}` deletes sooner."


def _asked_retention(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    for name in sorted(changed & set(answers.given)):
        before = _days_before(answers, name) if name.startswith(DAYS_BY_CATEGORY) else in_force(answers, name)
        if not is_tightened(name, before, after[name]):
            continue
        if name == _HYGIENE:
            yield "Hygiene is turned on. ZeroClaw archives and deletes old memories the next time it starts."
        else:
            yield (
                f"{name} changes from {_days(before)} to {_days(after[name])}. With hygiene on, ZeroClaw deletes what "
                "is older the next time it starts."
            )


def _days_before(answers: Answers, name: str) -> Any:
    """The days of a category that count today: its own setting's, where the table of days has none for it."""
    before = in_force(answers, name)
    category = name.removeprefix(f"{DAYS_BY_CATEGORY}.")
    return in_force(answers, f"memory.{category}_retention_days") if before is None else before


def _of_vectors(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    if answers.backend() == "qdrant" and is_backend_asked(answers):
        provider = after.get("memory.embedding_provider", answers.value("memory.embedding_provider"))
        if provider in (None, "", "none"):
            yield "Qdrant stores nothing without an embedding provider, and memory.embedding_provider is none."
    differing = [name for name in _VECTOR_SETTINGS if name in changed and _is_other(answers, after, name)]
    turned_off = after.get("memory.embedding_provider") in ("", "none")
    if differing and answers.situation.has_vectors and not turned_off:
        yield (
            f"The stored embeddings no longer fit after changing {_listed(differing)}. Create new ones with "
            "`zeroclaw memory reindex` (ZeroClaw 0.7.5 and later)."
        )


def _is_other(answers: Answers, after: Mapping[str, Any], name: str) -> bool:
    return not is_same(after[name], in_force(answers, name))


def _of_the_backend(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    if answers.backend() == "postgres" and BACKEND in changed:
        yield "PostgreSQL needs a ZeroClaw built with the feature memory-postgres. Not every build has it."


def _of_missing_password(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    url = str(after.get(DB_URL) or "")
    if DB_URL not in changed or not url.startswith(("postgres://", "postgresql://")):
        return
    user, at, _ = url.partition("://")[2].rpartition("@")
    if not (at and ":" in user) and "password=" not in url.partition("?")[2]:
        yield (
            "The database URL has no password. ZeroClaw reads neither PGPASSWORD nor ~/.pgpass, so the server must "
            "accept this user without one."
        )


def _of_another_store(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    idle = sorted(
        name
        for name in changed
        if name.startswith("storage.") and name.split(".")[1] not in (answers.backend(), "provider")
    )
    if idle:
        have, are = ("has", "is") if len(idle) == 1 else ("have", "are")
        yield f"{_listed(idle)} {have} no effect while the backend is {answers.backend()}, and {are} not tested."


def _taken_from_environment(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    for name in sorted(changed & set(answers.given)):
        answer = answers.given[name]
        # A missing memory.backend is named as the file alone means it.
        if answer.source == "environment" and (name != BACKEND or answers.changes_backend()):
            yield f"{name} is taken from the environment variable {answer.origin.removeprefix('environment ')}."


def _overridden(answers: Answers, after: Mapping[str, Any]) -> Iterator[str]:
    """The variables that ZeroClaw sets above what config.toml says, where they say something else."""
    situation, kind = answers.situation, answers.backend()
    for name, setting in SETTINGS.items():
        variable = variable_of(name, situation.target, answers.alias())
        is_of_store = name.startswith(("memory.", f"storage.{kind}."))
        fills = setting.variable_fills and not situation.target.is_modern
        text = given(situation.environ, variable) if variable and is_of_store and not fills else ""
        if not text:
            continue
        value = after[name] if name in after else answers.value(name)
        if name == BACKEND and not situation.target.has_aliases:
            value = answers.backend()
        if not _means(name, text, value):
            yield f"The environment variable {variable} is set and overrides {name}."


def _means(name: str, text: str, value: Any) -> bool:
    """True when a variable's text stands for this value."""
    try:
        parsed = parsed_value(name, text)
    except UsageError:
        return False
    if name == BACKEND:
        return str(parsed).lower() == str(value).lower()
    return is_same(parsed, value)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else str(value)


def _days(value: Any) -> str:
    return "0 (never)" if not value else counted(value, "day")


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
