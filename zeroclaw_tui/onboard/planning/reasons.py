"""What has to be said about a plan, in full sentences: what changes with the backend and why, what stays, what
overrides it, and where an answer came from that nobody typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zeroclaw_tui.config.environment import (
    STORAGE_DB_URL,
    STORAGE_PROVIDER,
    STORAGE_TIMEOUT,
    given,
)
from zeroclaw_tui.config.setting_names import BACKEND, SETTINGS, environment_variable, parsed_value
from zeroclaw_tui.config.setting_table import DAYS_BY_CATEGORY, version_numbers
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.answers.backend_names import BACKEND_TITLES
from zeroclaw_tui.onboard.answers.retention import PROFILE_SETTINGS, is_tightened
from zeroclaw_tui.onboard.planning.wanted import ASKED_BY_NAME, PROVIDER, in_force, is_backend_asked, is_same

_HYGIENE = "memory.hygiene_enabled"
_WHY_NO_HYGIENE = {
    "postgres": "PostgreSQL has no hygiene in ZeroClaw, so hygiene goes off.",
    "qdrant": "Qdrant has no hygiene in ZeroClaw, so hygiene goes off.",
    "lucid": "With Lucid hygiene goes off, for what it deletes here lucid would still have.",
    "markdown": "With Markdown hygiene goes off, so that no file of a day is archived or deleted.",
    "none": "Nothing is remembered from now on, so hygiene goes off.",
}
_OLDEST = {False: (0, 1, 2), True: (0, 8, 0)}
"""The first version of each generation."""
_REMOTE = ("postgres", "qdrant")
_VECTOR_SETTINGS = ("memory.embedding_provider", "memory.embedding_model", "memory.embedding_dimensions")


def notes_of(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> tuple[str, ...]:
    """The sentences about a plan, the weightiest first. `after` has each setting that was wanted with its value in
    plain text, `changed` the names of those that differ from the file."""
    notes = [
        *_of_the_switch(answers, changed),
        *_of_hygiene(answers, after, changed),
        *_kept_back(answers, after),
        *_asked_retention(answers, after, changed),
        *_of_vectors(answers, after, changed),
        *_of_the_backend(answers, changed),
        *_of_newer_keys(answers, changed),
        *_of_another_store(answers, changed),
        *_taken_from_environment(answers, changed),
        *_overridden(answers, after),
    ]
    return tuple(dict.fromkeys(notes))


def _is_switched(answers: Answers, changed: frozenset[str]) -> bool:
    return bool({BACKEND, PROVIDER} & changed) and answers.backend() != answers.situation.backend


def _of_the_switch(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    old, new = answers.situation.backend, answers.backend()
    holds_something = old in _REMOTE or bool(answers.situation.found)
    if not _is_switched(answers, changed) or not holds_something or old == "none":
        return
    if {old, new} == {"sqlite", "lucid"}:
        yield "The memories in the database stay in use: SQLite and Lucid share it."
    elif new == "none":
        yield f"What {BACKEND_TITLES[old]} holds stays where it is, and is not read while the backend is none."
    else:
        yield f"What {BACKEND_TITLES[old]} holds stays where it is; it is not copied to {BACKEND_TITLES[new]}."


def _of_hygiene(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    if not _is_switched(answers, changed) or answers.situation.is_new:
        return
    is_off = after.get(_HYGIENE) is False and in_force(answers, _HYGIENE) is not False
    if is_off and _HYGIENE not in answers.given and answers.backend() in _WHY_NO_HYGIENE:
        yield _WHY_NO_HYGIENE[answers.backend()]
    followed = [
        name
        for name in PROFILE_SETTINGS
        if name in after
        and name != _HYGIENE
        and name not in answers.given
        and not is_same(after[name], in_force(answers, name))
    ]
    if followed:
        values = ", ".join(f"{name} = {_shown(after[name])}" for name in followed)
        yield f"With the backend its defaults come along: {values}."


def _kept_back(answers: Answers, after: Mapping[str, Any]) -> Iterator[str]:
    """What the profile would switch on or shorten, and is not done unasked."""
    for name in PROFILE_SETTINGS:
        value, wished = after.get(name), answers.proposed(name)
        if name in answers.given or value is None or not is_tightened(name, value, wished):
            continue
        if name == _HYGIENE:
            yield f"Hygiene stays off, since it deletes what is old: `--set {name}=true` switches it on."
        else:
            yield f"{name} stays at {_days(value)}, since less would delete: `--set {name}={wished}` sets the default."


def _asked_retention(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    for name in sorted(changed & set(answers.given)):
        before = _days_before(answers, name) if name.startswith(DAYS_BY_CATEGORY) else in_force(answers, name)
        if not is_tightened(name, before, after[name]):
            continue
        if name == _HYGIENE:
            yield "Hygiene goes on, as asked: ZeroClaw then archives and deletes what is old, at its next start."
        else:
            yield (
                f"{name} goes from {_days(before)} to {_days(after[name])}, as asked: with hygiene on, what is older "
                "goes at ZeroClaw's next start."
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
            yield "Qdrant stores nothing without an embedding provider: memory.embedding_provider is none."
    differing = [name for name in _VECTOR_SETTINGS if name in changed and _is_other(answers, after, name)]
    turned_off = after.get("memory.embedding_provider") in ("", "none")
    if differing and answers.situation.has_vectors and not turned_off:
        yield (
            f"The vectors there are no longer fit once {_listed(differing)} changes: `zeroclaw memory reindex` "
            "(ZeroClaw 0.7.5 and later) makes them anew."
        )


def _is_other(answers: Answers, after: Mapping[str, Any], name: str) -> bool:
    return not is_same(after[name], in_force(answers, name))


def _of_the_backend(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    target = answers.situation.target
    if answers.backend() != "postgres" or BACKEND not in changed:
        return
    yield "PostgreSQL needs a ZeroClaw that was built with the feature memory-postgres, which not every one is."
    if target.version is None and not target.is_modern:
        yield "ZeroClaw 0.6.3 to 0.7.3 do not know the backend postgres and would use Markdown."


def _of_newer_keys(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    """Where nobody knows which ZeroClaw reads the file: the keys asked for that an older one of its form ignores."""
    target = answers.situation.target
    if target.version is not None:
        return
    oldest = _OLDEST[target.is_modern]
    for name in sorted(changed & set(answers.given)):
        since = SETTINGS[name].since
        if answers.given[name].source in ASKED_BY_NAME and version_numbers(since) > oldest:
            yield f"{name} is read by ZeroClaw from {since} on; an older one ignores it."


def _of_another_store(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    idle = sorted(
        name
        for name in changed
        if name.startswith("storage.") and name.split(".")[1] not in (answers.backend(), "provider")
    )
    if idle:
        yield f"{_listed(idle)} has no effect while the backend is {answers.backend()}, and is not tested."


def _taken_from_environment(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    for name in sorted(changed & set(answers.given)):
        answer = answers.given[name]
        # A missing memory.backend is named as the file alone means it.
        if answer.source == "environment" and (name != BACKEND or answers.changes_backend()):
            yield f"{name} is taken from the environment variable {answer.told.removeprefix('environment ')}."


def _overridden(answers: Answers, after: Mapping[str, Any]) -> Iterator[str]:
    """The variables that ZeroClaw sets above what config.toml says, where they say something else."""
    environ = answers.situation.environ
    for name, variable in _variables(answers):
        text = given(environ, variable)
        if not text:
            continue
        value = after[name] if name in after else answers.value(name)
        if name == BACKEND and not answers.situation.target.has_aliases:
            value = answers.backend()
        if not _says(name, text, value):
            yield f"The environment variable {variable} is set and overrides {name} whenever ZeroClaw sees it."


def _variables(answers: Answers) -> Iterator[tuple[str, str]]:
    target, kind = answers.situation.target, answers.backend()
    names = [name for name in SETTINGS if name.startswith(("memory.", f"storage.{kind}."))]
    if target.is_modern:
        for name in names:
            section, *rest = name.split(".")
            path = rest if section == "memory" else [rest[0], answers.alias(), *rest[1:]]
            yield name, "ZEROCLAW_" + "__".join((section, *path))
        return
    yield BACKEND, STORAGE_PROVIDER
    if kind == "postgres":
        yield "storage.postgres.db_url", STORAGE_DB_URL
        yield "storage.postgres.connect_timeout_secs", STORAGE_TIMEOUT
    if kind == "qdrant":
        yield "storage.qdrant.collection", "QDRANT_COLLECTION"
    for name in names:
        variable = environment_variable(name, target)
        if variable is not None:
            yield name, variable


def _says(name: str, text: str, value: Any) -> bool:
    """True when a variable's text stands for this value."""
    try:
        stood_for = parsed_value(name, text)
    except WrongUse:
        return False
    if name == BACKEND:
        return str(stood_for).lower() == str(value).lower()
    return is_same(stood_for, value)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else str(value)


def _days(value: Any) -> str:
    return "0 (never)" if not value else f"{value} day{'s' if value != 1 else ''}"


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
