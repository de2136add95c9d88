"""The settings that a config needs for the answers, and their places in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from zeroclaw_tui.backends.factory import known_backend
from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA
from zeroclaw_tui.config.schema import PROVIDER_CONFIG, SETTINGS, Target, default_text, kind_of
from zeroclaw_tui.config.setting_names import BACKEND, DEFAULT_ALIAS, is_read, place_of, written_value
from zeroclaw_tui.config.toml import KeyPath
from zeroclaw_tui.memory.errors import BrokenConfig
from zeroclaw_tui.onboard.answers import AUTO_SAVE, DB_URL, NEEDED, PROFILE_SETTINGS, Answers, backend_defaults

PROVIDER = f"{PROVIDER_CONFIG}.provider"
"""It overrides memory.backend in ZeroClaw <= 0.7.5, and is not a setting of its own."""
_PROVIDER_PATH: KeyPath = tuple(PROVIDER.split("."))
_STORE_OF_OLD_FORM = re.compile(r"(?ms)^\[(?:storage\.provider\.config|memory\.qdrant)\].*?(?=^\[|\Z)")
_ABOUT_THE_DEFAULTS = re.compile(r"(?m)^# These are the values written for this backend\..*\n(?:# .*\n)*")
_TIMEOUT_OF_OLD_FORM = re.compile(r"(?m)^# Seconds to wait for the database file;.*\n# sqlite_open_timeout_secs = .*\n")


def all_wanted(answers: Answers) -> dict[str, Any]:
    """The settings that the file needs, with their values, in the order of writing.

    Raises BrokenConfig if the file has a value of a wrong type for one of them.
    """
    names = list(_default_names(answers)) if answers.writes_defaults() else list(_profile_names(answers))
    names += [name for name in answers.given if name != BACKEND and _is_to_write(answers, name)]
    values = {name: answers.value(name) for name in dict.fromkeys(names)}
    wanted = {name: value for name, value in values.items() if value is not None}
    backend = _backend_value(answers)
    if backend is not None:
        wanted = {BACKEND: backend, **wanted}
    sections = {path_of(answers, name)[0] for name, value in wanted.items() if is_changed(answers, name, value)}
    # ZeroClaw <= 0.7.5 does not start if [memory] lacks one of these keys.
    may_not_start = not answers.situation.target.is_modern and answers.situation.document.has(("memory",))
    if "memory" in sections or may_not_start:
        wanted = {**needed_settings(answers), **wanted}
    provider = _provider_wanted(answers, wanted)
    if provider is not None:
        wanted[PROVIDER] = provider
    return {name: wanted[name] for name in sorted(wanted, key=_rank)}


def _rank(name: str) -> int:
    """The sort key of a setting in its table; the sort is stable."""
    if not name.startswith("storage."):
        return 0
    return 1 if name == PROVIDER else 2 if name in NEEDED.values() else 3


def is_changed(answers: Answers, name: str, value: Any) -> bool:
    """Whether the file has no value or another value for a setting; encrypted ones are compared decrypted."""
    written = _written_of(answers, name)
    return written is None or not (is_same(value, written) or is_same(value, before_of(answers, name)))


def before_of(answers: Answers, name: str) -> Any:
    """The value of a setting in the file, decrypted if possible; None if there is none."""
    written = _written_of(answers, name)
    is_secret = name in SETTINGS and SETTINGS[name].is_secret
    return answers.current(name) if is_secret and written is not None else written


def is_backend_answered(answers: Answers) -> bool:
    """Whether the backend is answered or changes."""
    return answers.changes_backend() or BACKEND in answers.given


def in_force(answers: Answers, name: str) -> Any:
    """The current value: the file's, else ZeroClaw's own default."""
    current = answers.current(name)
    return SETTINGS[name].default_for(answers.situation.target) if current is None else current


def path_of(answers: Answers, name: str) -> KeyPath:
    """The path of a setting in the file, existing or not."""
    if name == PROVIDER:
        return _PROVIDER_PATH
    return place_of(name, answers.situation.document, answers.situation.target, _alias_of(answers, name))


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal; true is not 1, but 7 is 7.0."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _written_of(answers: Answers, name: str) -> Any:
    """The file's own value of a setting, None if there is none. Raises BrokenConfig for a wrong type."""
    if name != PROVIDER:
        return written_value(name, answers.situation.document, answers.situation.target, _alias_of(answers, name))
    provider = answers.situation.document.get(_PROVIDER_PATH)
    if provider is None or isinstance(provider, str):
        return provider
    raise BrokenConfig(
        f"{answers.situation.config_file}: {PROVIDER} is {kind_of(provider)} and must be a text in quotes.",
        hint="Fix that line and try again.",
    )


def _alias_of(answers: Answers, name: str) -> str:
    section, kind, *_ = name.split(".")
    return answers.alias(kind) if section == "storage" else DEFAULT_ALIAS


def _provider_wanted(answers: Answers, wanted: dict[str, Any]) -> str | None:
    """The new value of storage.provider.config.provider, None if it is right or not needed.

    ZeroClaw >= 0.8.0 ignores it, but uses an old `[storage.provider.config]` for PostgreSQL only if it says so.
    """
    target, kind = answers.situation.target, answers.backend()
    if target.schema >= NEWEST_SCHEMA:
        return None
    written = _written_of(answers, PROVIDER)
    current = (written or "").strip().lower()
    if current == kind:
        return None
    if target.is_modern:
        names = [*wanted, *([DB_URL] if is_backend_answered(answers) else [])]
        is_in_table = any(path_of(answers, name)[:-1] == _PROVIDER_PATH[:-1] for name in names)
        return kind if kind == "postgres" and is_in_table else None
    if current:
        return kind if is_backend_answered(answers) else None
    return kind if kind == "postgres" and written is None and answers.changes_backend() else None


def _profile_names(answers: Answers) -> Iterator[str]:
    """The settings of the backend's profile that change together with the backend."""
    for name in PROFILE_SETTINGS if answers.changes_backend() else ():
        if not is_same(answers.value(name), in_force(answers, name)):
            yield name


def _default_names(answers: Answers) -> Iterator[str]:
    """The settings of the backend's defaults file that have to be written."""
    for name in backend_defaults(answers.backend()):
        is_known = answers.situation.is_new or is_read(name, answers.situation.target)
        is_due = name in PROFILE_SETTINGS or (is_known and _written_of(answers, name) is None)
        if is_due and name != BACKEND:
            yield name


def _is_to_write(answers: Answers, name: str) -> bool:
    """Whether an answer has to be written."""
    given = answers.given[name]
    is_written = _written_of(answers, name) is not None
    if not is_read(name, answers.situation.target):
        return False
    if given.source in ("flag", "answers file"):
        return True
    if name.startswith("storage.") and not name.startswith(f"storage.{answers.backend()}."):
        return False
    return is_written or not is_same(given.value, in_force(answers, name))


def _backend_value(answers: Answers) -> str | None:
    """The new value of memory.backend, None if it does not change."""
    if not is_backend_answered(answers):
        return None
    kind, alias = answers.backend(), answers.alias()
    full = _full_backend(answers, kind)
    written, dot, written_alias = str(_written_of(answers, BACKEND) or "").strip().partition(".")
    if written.lower() != kind:
        return full
    is_alias_same = (written_alias if dot else DEFAULT_ALIAS) == alias
    return None if is_alias_same or not _takes_alias(answers, kind) else full


def _full_backend(answers: Answers, kind: str) -> str:
    """The backend in the format of this file. Below schema 3 the alias `default` is omitted, because a name with a dot
    would make ZeroClaw <= 0.7.5 switch to Markdown."""
    alias = answers.alias(kind)
    is_alias_needed = answers.situation.target.schema >= NEWEST_SCHEMA or alias != DEFAULT_ALIAS
    return f"{kind}.{alias}" if is_alias_needed and _takes_alias(answers, kind) else kind


def _takes_alias(answers: Answers, kind: str) -> bool:
    return answers.situation.target.has_aliases and not known_backend(kind).keeps_nothing


def needed_settings(answers: Answers) -> dict[str, Any]:
    """The required keys that [memory] lacks: ZeroClaw <= 0.7.5 does not start without `backend` and `auto_save`, and
    0.8.0 drops the section without `backend`."""
    needed: dict[str, Any] = {}
    target = answers.situation.target
    starts_without = target.version is not None and target.numbers >= (0, 8, 1)
    if _written_of(answers, BACKEND) is None and not starts_without:
        # Without an answer, use the meaning of the file alone, regardless of the environment.
        provider = "" if target.is_modern else (_written_of(answers, PROVIDER) or "").strip().lower()
        kind = answers.backend() if is_backend_answered(answers) else provider or "sqlite"
        needed[BACKEND] = _full_backend(answers, kind)
    if _written_of(answers, AUTO_SAVE) is None and not target.is_modern:
        needed[AUTO_SAVE] = answers.value(AUTO_SAVE)
    return needed


def first_key(target: Target) -> tuple[KeyPath, Any]:
    """The key that an empty config needs: ZeroClaw 0.1.2 to 0.1.8 do not start without `default_temperature`, and 0.7.3
    and later treat a file without `schema_version` as an older one."""
    return (("schema_version",), target.schema) if target.schema > 1 else (("default_temperature",), 0.7)


def new_document(backend: str, target: Target, paths: Iterable[KeyPath]) -> ConfigDocument:
    """The commented defaults file of a backend below its first key, in the format of the target.

    Keys of `paths` that are commented out are uncommented, so that their values are written at these places.
    """
    text = _ABOUT_THE_DEFAULTS.sub("", default_text(backend))
    if target.schema >= NEWEST_SCHEMA:
        text = _TIMEOUT_OF_OLD_FORM.sub("", _STORE_OF_OLD_FORM.sub("", text)).rstrip() + "\n"
    else:
        for path in paths:
            text = re.sub(rf"(?m)^# (?={re.escape(path[-1])} = )", "", text)
    (name,), value = first_key(target)
    return ConfigDocument.from_text(f"{name} = {value}\n\n{text}")
