"""Which settings a config has to have for the answers, and where each is in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from zeroclaw_tui.backends.factory import keeps_nothing
from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA
from zeroclaw_tui.config.schema import (
    SETTINGS,
    default_text,
    kind_of,
    version_numbers,
)
from zeroclaw_tui.config.setting_names import (
    BACKEND,
    DEFAULT_ALIAS,
    Target,
    default_of,
    is_read,
    place_of,
    written_value,
)
from zeroclaw_tui.config.toml import KeyPath
from zeroclaw_tui.memory.errors import BrokenConfig
from zeroclaw_tui.onboard.answers import (
    AUTO_SAVE,
    DB_URL,
    PROFILE_SETTINGS,
    Answers,
    backend_defaults,
)

NEEDED_FOR = {
    DB_URL: "a database URL",
    "storage.qdrant.url": "the URL of Qdrant",
    "memory.embedding_provider": "the URL of the embedding provider",
}
PROVIDER = "storage.provider.config.provider"
PROVIDER_PATH: KeyPath = ("storage", "provider", "config", "provider")
"""It names the backend above memory.backend (ZeroClaw <= 0.7.5); no setting of its own."""
ASKED_BY_NAME = ("flag", "answers file")
"""The sources of an answer that somebody gave for this one setting."""
_STORE_OF_OLD_FORM = re.compile(r"(?ms)^\[(?:storage\.provider\.config|memory\.qdrant)\].*?(?=^\[|\Z)")
_ABOUT_THE_DEFAULTS = re.compile(r"(?m)^# These are the values written for this backend\..*\n(?:# .*\n)*")
_TIMEOUT_OF_OLD_FORM = re.compile(r"(?m)^# Seconds to wait for the database file;.*\n# sqlite_open_timeout_secs = .*\n")


def all_wanted(answers: Answers) -> dict[str, Any]:
    """Everything that has to be in the file, in the order of the defaults files: who and where before the rest."""
    wanted = wanted_settings(answers)
    provider = provider_wanted(answers, wanted)
    if provider is not None:
        wanted[PROVIDER] = provider
    return {name: wanted[name] for name in sorted(wanted, key=_rank)}


def _rank(name: str) -> int:
    """Where a setting is in its table; settings of one rank keep their order."""
    if not name.startswith("storage."):
        return 0
    return 1 if name == PROVIDER else 2 if name in NEEDED_FOR else 3


def wanted_settings(answers: Answers) -> dict[str, Any]:
    """Each setting that has to be in the file with its value, in the order of writing; memory.backend is first.

    Raises BrokenConfig where the file has a value of a wrong type for one of them.
    """
    names = list(_default_names(answers)) if answers.writes_defaults() else list(_profile_names(answers))
    names += [name for name in answers.given if name != BACKEND and _is_to_write(answers, name)]
    wanted = {name: answers.value(name) for name in dict.fromkeys(names)}
    found = {name: value for name, value in wanted.items() if value is not None}
    backend = _backend_value(answers)
    if backend is not None:
        found = {BACKEND: backend, **found}
    touched = (path_of(answers, name)[0] for name, value in found.items() if is_changed(answers, name, value))
    return {**needed_settings(answers), **found} if "memory" in touched or _may_not_start(answers) else found


def is_changed(answers: Answers, name: str, value: Any) -> bool:
    """True where the file has no value for a setting, or another one; an encrypted one is compared as plain text."""
    written = written_of(answers, name)
    return written is None or not (is_same(value, written) or is_same(value, before_of(answers, name)))


def before_of(answers: Answers, name: str) -> Any:
    """What the file says for a setting, a secret as plain text where it can be read; None where it says nothing."""
    written = written_of(answers, name)
    is_secret = name in SETTINGS and SETTINGS[name].is_secret
    return answers.current(name) if is_secret and written is not None else written


def is_backend_asked(answers: Answers) -> bool:
    """True when somebody answered for the backend here, or it changes."""
    return answers.changes_backend() or answers.is_asked(BACKEND)


def in_force(answers: Answers, name: str) -> Any:
    """The value that counts today: the file's, else ZeroClaw's own default."""
    current = answers.current(name)
    return default_of(name, answers.situation.target) if current is None else current


def path_of(answers: Answers, name: str) -> KeyPath:
    """Where a setting is, or would be, in the file."""
    if name == PROVIDER:
        return PROVIDER_PATH
    return place_of(name, answers.situation.document, answers.situation.target, _alias_of(answers, name))


def written_of(answers: Answers, name: str) -> Any:
    """The file's own value of a setting, None where it has none. Raises BrokenConfig for a wrong type."""
    if name == PROVIDER:
        return _provider_written(answers)
    return written_value(name, answers.situation.document, answers.situation.target, _alias_of(answers, name))


def is_same(one: Any, other: Any) -> bool:
    """True for equal values; true is not 1, but 7 is 7.0."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def provider_wanted(answers: Answers, wanted: dict[str, Any]) -> str | None:
    """What storage.provider.config.provider has to be, None where it is right or need not be there.

    A name that is there stands above memory.backend in ZeroClaw <= 0.7.5. ZeroClaw >= 0.8.0 goes by memory.backend
    alone, but takes an old `[storage.provider.config]` for PostgreSQL's only where its provider says so; with another
    backend the name stays, so that what the table holds for PostgreSQL is not moved elsewhere.
    """
    target, kind = answers.situation.target, answers.backend()
    if target.schema >= NEWEST_SCHEMA:
        return None
    written = _provider_written(answers)
    named = (written or "").strip().lower()
    if named == kind:
        return None
    if target.is_modern:
        return kind if kind == "postgres" and _is_in_provider_table(answers, wanted) else None
    if named:
        return kind if is_backend_asked(answers) else None
    return kind if kind == "postgres" and written is None and answers.changes_backend() else None


def _is_in_provider_table(answers: Answers, wanted: dict[str, Any]) -> bool:
    """True when PostgreSQL's settings are in the old table, and the backend or one of them is asked for."""
    names = [*wanted, *([DB_URL] if is_backend_asked(answers) else [])]
    return any(path_of(answers, name)[:-1] == PROVIDER_PATH[:-1] for name in names)


def _provider_written(answers: Answers) -> str | None:
    named = answers.situation.document.get(PROVIDER_PATH)
    if named is None or isinstance(named, str):
        return named
    raise BrokenConfig(
        f"{answers.situation.config_file}: {PROVIDER} is {kind_of(named)} and must be a text in quotes.",
        hint="Fix that line and try again.",
    )


def _alias_of(answers: Answers, name: str) -> str:
    section, kind, *_ = name.split(".")
    return answers.alias(kind) if section == "storage" else DEFAULT_ALIAS


def _profile_names(answers: Answers) -> Iterator[str]:
    """The settings of the backend's profile that change together with the backend."""
    if answers.changes_backend():
        for name in PROFILE_SETTINGS:
            if not is_same(answers.value(name), in_force(answers, name)):
                yield name


def _default_names(answers: Answers) -> Iterator[str]:
    """The settings of the backend's defaults file that are to be written."""
    for name in backend_defaults(answers.backend()):
        if name == BACKEND:
            continue
        is_absent = written_of(answers, name) is None
        is_known = answers.situation.is_new or is_read(name, answers.situation.target)
        if name in PROFILE_SETTINGS or (is_absent and is_known):
            yield name


def _is_to_write(answers: Answers, name: str) -> bool:
    """True for an answer that belongs into the file."""
    given = answers.given[name]
    if not is_read(name, answers.situation.target):
        return False
    if given.source == "environment" and not answers.changes_backend():
        # What the shell has set for the agent is no wish to have it in the file; asking for a backend is, for what
        # the file lacks of its store.
        return is_backend_asked(answers) and name.startswith("storage.") and written_of(answers, name) is None
    is_asked_by_name = given.source in ASKED_BY_NAME
    if name.startswith("storage.") and not name.startswith(f"storage.{answers.backend()}."):
        return is_asked_by_name
    if written_of(answers, name) is not None or is_asked_by_name:
        return True
    return not is_same(given.value, in_force(answers, name))


def _backend_value(answers: Answers) -> str | None:
    """What memory.backend has to become, None where it stays as it is (or stays away)."""
    if not is_backend_asked(answers):
        return None
    written = written_of(answers, BACKEND)
    full = _full_backend(answers, answers.backend(), answers.alias())
    if written is None:
        return full
    kind, dot, alias = str(written).strip().partition(".")
    if kind.lower() != answers.backend():
        return full
    keeps_alias = not answers.situation.target.has_aliases or (alias if dot else DEFAULT_ALIAS) == answers.alias()
    return None if keeps_alias or keeps_nothing(answers.backend()) else full


def _full_backend(answers: Answers, kind: str, alias: str) -> str:
    """The name as this file spells it. Below schema 3 an alias that needs no naming is left out: a name with a dot
    would make ZeroClaw <= 0.7.5 switch to Markdown."""
    target = answers.situation.target
    is_bare = (
        keeps_nothing(kind) or not target.has_aliases or (target.schema < NEWEST_SCHEMA and alias == DEFAULT_ALIAS)
    )
    return kind if is_bare else f"{kind}.{alias}"


def _backend_without_name(answers: Answers) -> str:
    """The backend, spelled, that a file without memory.backend stands for; what the environment says is no part of
    it."""
    given = answers.given.get(BACKEND)
    if given is None or given.source != "environment" or is_backend_asked(answers):
        return _full_backend(answers, answers.backend(), answers.alias())
    named = "" if answers.situation.target.is_modern else (_provider_written(answers) or "").strip().lower()
    return _full_backend(answers, named or str(SETTINGS[BACKEND].default), DEFAULT_ALIAS)


def needed_settings(answers: Answers) -> dict[str, Any]:
    """What the file lacks of the keys that a [memory] has to have: ZeroClaw <= 0.7.5 does not start without `backend`
    and `auto_save`, and 0.8.0 drops the section without `backend`."""
    needed: dict[str, Any] = {}
    target = answers.situation.target
    if written_of(answers, BACKEND) is None and not _starts_without_backend(target):
        needed[BACKEND] = _backend_without_name(answers)
    if written_of(answers, AUTO_SAVE) is None and not target.is_modern:
        needed[AUTO_SAVE] = answers.value(AUTO_SAVE)
    return needed


def _may_not_start(answers: Answers) -> bool:
    """True for a file that ZeroClaw <= 0.7.5 reads, which does not start where [memory] lacks a key."""
    return not answers.situation.target.is_modern and answers.situation.document.has(("memory",))


def _starts_without_backend(target: Target) -> bool:
    return target.version is not None and version_numbers(target.version) >= (0, 8, 1)


def first_key(target: Target) -> tuple[KeyPath, Any]:
    """What a config without any key needs: ZeroClaw 0.1.2 to 0.1.8 do not start without `default_temperature`, and
    0.7.3 and later take a file without `schema_version` for an older one."""
    return (("schema_version",), target.schema) if target.schema > 1 else (("default_temperature",), 0.7)


def new_document(backend: str, target: Target, paths: Iterable[KeyPath]) -> ConfigDocument:
    """The commented file of a backend below its first key; where a key of `paths` is in a comment, the
    comment is taken off, so that its value lands in its place. Tables of the form up to 0.7.5 are left out of a file
    in schema 3, where those of `[storage.<kind>.<alias>]` come in their place."""
    text = _ABOUT_THE_DEFAULTS.sub("", default_text(backend))
    if target.schema >= NEWEST_SCHEMA:
        text = _TIMEOUT_OF_OLD_FORM.sub("", _STORE_OF_OLD_FORM.sub("", text)).rstrip() + "\n"
    else:
        for path in paths:
            text = re.sub(rf"(?m)^# (?={re.escape(path[-1])} = )", "", text)
    (name,), value = first_key(target)
    return ConfigDocument.from_text(f"{name} = {value}\n\n{text}")
