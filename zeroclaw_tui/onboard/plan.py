"""From answers to the exact change of config.toml, with its notes and warnings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from zeroclaw_tui.backends.factory import has_database, keeps_nothing
from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, check_change, shown
from zeroclaw_tui.config.save import save_config
from zeroclaw_tui.config.schema import (
    DAYS_BY_CATEGORY,
    SETTINGS,
    default_text,
    kind_of,
    version_numbers,
)
from zeroclaw_tui.config.secrets import (
    ELSEWHERE,
    KEY_FILE,
    WAYS_WITHOUT_KEY,
    SecretUnreadable,
    encrypted_names_in,
    is_encrypted,
    is_variable,
    make_key_file,
    missing_key_words,
    new_key_text,
    read_key,
    seal,
)
from zeroclaw_tui.config.setting_names import (
    BACKEND,
    DEFAULT_ALIAS,
    Target,
    default_of,
    environment_lines,
    is_read,
    parsed_value,
    place_of,
    variable_of,
    written_value,
)
from zeroclaw_tui.config.storage import OTHERS_DB_URL, given
from zeroclaw_tui.config.toml import KeyPath
from zeroclaw_tui.memory.errors import BrokenConfig, UsageError
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.onboard.answers import (
    AUTO_SAVE,
    BACKEND_TITLES,
    DB_URL,
    KEYWORD_WEIGHT,
    PROFILE_SETTINGS,
    VECTOR_WEIGHT,
    Answers,
    backend_defaults,
    check_weights,
    is_tightened,
    others_database,
)
from zeroclaw_tui.onboard.situation import Situation, warnings_then

_NEEDS = {
    DB_URL: "a database URL",
    "storage.qdrant.url": "the URL of Qdrant",
    "memory.embedding_provider": "the URL of the embedding provider",
}
_EXAMPLES = {
    DB_URL: "postgres://user:password@host:5432/zeroclaw",
    "storage.qdrant.url": "http://localhost:6333",
    "memory.embedding_provider": "custom:https://host/v1",
}
PROVIDER = "storage.provider.config.provider"
PROVIDER_PATH: KeyPath = ("storage", "provider", "config", "provider")
"""It names the backend above memory.backend (ZeroClaw <= 0.7.5); no setting of its own."""
ASKED_BY_NAME = ("flag", "answers file")
"""The sources of an answer that somebody gave for this one setting."""
_STORE_OF_OLD_FORM = re.compile(r"(?ms)^\[(?:storage\.provider\.config|memory\.qdrant)\].*?(?=^\[|\Z)")
_ABOUT_THE_DEFAULTS = re.compile(r"(?m)^# These are the values written for this backend\..*\n(?:# .*\n)*")
_TIMEOUT_OF_OLD_FORM = re.compile(r"(?m)^# Seconds to wait for the database file;.*\n# sqlite_open_timeout_secs = .*\n")
_QDRANT_KEY: KeyPath = ("memory", "qdrant", "api_key")
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


@dataclass(frozen=True, slots=True)
class Change:
    """One key. `before` is None where it was not there. Secrets are plain text here and never shown."""

    name: str
    path: KeyPath
    before: Any = field(repr=False)
    after: Any = field(repr=False)
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """`after` equals `before` when there is nothing to change. `notes` are sentences for the review: what stays and
    why ("Hygiene stays off: …"), a secret that stays plain, an environment variable that overrides what is written,
    what loading the config has to tell only once this is written. `warnings` are what it tells today and still does
    then. `new_key` is the text of a `.secret_key` to be made first, else None."""

    answers: Answers = field(repr=False)
    before: ConfigDocument = field(repr=False)
    after: ConfigDocument = field(repr=False)
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    new_key: str | None = field(default=None, repr=False)

    @property
    def is_empty(self) -> bool:
        """True when the file stays as it is."""
        return not self.changes


def make_plan(answers: Answers) -> Plan:
    """What would be written: the given answers that differ from the file; with another backend its five profile keys
    as far as they differ; all defaults of a backend where the file has no key or --defaults asks for them; what this
    ZeroClaw needs to start; `storage.provider.config.provider` corrected where it names another backend.

    A new file is the commented defaults file of the backend; it, and a file that holds no key, begins with
    `default_temperature = 0.7`, or with the `schema_version` where ZeroClaw 0.7.3 or later reads it. Raises UsageError
    naming the flag for each missing answer and for what ZeroClaw's own validation would refuse, BrokenConfig for a
    wrong type in a key that would be edited, SecretUnreadable where a secret must be encrypted and the key file is
    missing next to encrypted values, or damaged.
    """
    _check_complete(answers)
    wanted = _all_wanted(answers)
    changes = tuple(_changes(answers, wanted))
    before = answers.situation.document
    exports = environment_lines(_for_exports(answers), answers.situation.target)
    _check_weights(answers, changes)
    notes = notes_of(answers, wanted, frozenset(change.name for change in changes))
    today = answers.situation.warnings
    if not changes:
        return Plan(answers, before, before, (), notes, exports, today)
    plain = {change.path: change.after for change in changes}
    secrets = frozenset(change.path for change in changes if change.is_secret)
    encrypted = encrypted_values(plain, secrets, answers.situation)
    base, values = before, dict(encrypted.values)
    if answers.situation.has_no_key:
        path, value = first_key(answers.situation.target)
        changes = (Change(path[0], path, None, value), *changes)
        values = {path: value, **values}
    if answers.situation.is_new:
        base = new_document(answers.backend(), answers.situation.target, encrypted.values)
    after = base.with_values(values)
    touched = [".".join(change.path) for change in changes]
    check_change(before.values, after.values, touched, answers.situation.target.reading_version)
    # What a new key encrypts can be read only once its file is there.
    then = warnings_then(answers.situation, after if encrypted.new_key is None else after.with_values(plain))
    notes += (*encrypted.notes, *(warning for warning in then if warning not in today))
    warnings = tuple(warning for warning in today if warning in then)
    return Plan(answers, before, after, changes, notes, exports, warnings, encrypted.new_key)


def apply_plan(plan: Plan) -> str | None:
    """Write it: the key file if it needs one, then config.toml with its backup. The backup's name, None without one.

    Raises what config.save raises; an existing key file is never touched.
    """
    situation = plan.answers.situation
    if plan.is_empty:
        return None
    if plan.new_key is not None:
        make_key_file(situation.config_dir, plan.new_key)
    backup = save_config(
        situation.config_file, situation.raw, plan.after.to_bytes(), situation.own_dir, datetime.now(UTC)
    )
    return None if backup is None else backup.name


def _check_complete(answers: Answers) -> None:
    """Raise UsageError for what is missing; an address that nobody asks about may be in ZeroClaw's own environment."""
    missing = answers.missing()
    if not is_backend_asked(answers):
        missing = tuple(name for name in missing if name.startswith("memory."))
    if not missing:
        return
    needs = " and ".join(_NEEDS.get(name, name) for name in missing)
    flags = " ".join(f"--set {name}={_EXAMPLES.get(name, 'VALUE')}" for name in missing)
    tables = " or ".join(f"--memory {answers.backend()}.{shown(alias)}" for alias in _other_aliases(answers, missing))
    raise UsageError(
        f"The backend {answers.backend()} needs {needs}.",
        hint=f"Pass {flags}" + (f", or choose a table: {tables}" if tables else "") + _others(answers, missing),
        title="An answer is missing",
    )


def _check_weights(answers: Answers, changes: Iterable[Change]) -> None:
    if any(change.name in (VECTOR_WEIGHT, KEYWORD_WEIGHT) and change.after == 0 for change in changes):
        hint = f"Raise one of them: --set {VECTOR_WEIGHT}={SETTINGS[VECTOR_WEIGHT].default}."
        check_weights(answers.value(VECTOR_WEIGHT), answers.value(KEYWORD_WEIGHT), hint)


def _others(answers: Answers, missing: tuple[str, ...]) -> str:
    """The hint that another program's variable could be used, which needs a decision."""
    if DB_URL not in missing or others_database(answers.situation.environ, answers.situation.target) is None:
        return ""
    return f'. {OTHERS_DB_URL} may belong to another program; to use it: --set db_url="${OTHERS_DB_URL}"'


def _other_aliases(answers: Answers, missing: tuple[str, ...]) -> list[str]:
    """The other stores of this kind that the file has, where the one meant lacks its address."""
    if missing[0].startswith("memory.") or not answers.situation.target.has_aliases:
        return []
    return [alias for alias in answers.aliases(answers.backend()) if alias != answers.alias()]


def _all_wanted(answers: Answers) -> dict[str, Any]:
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
    return 1 if name == PROVIDER else 2 if name in _NEEDS else 3


def _changes(answers: Answers, wanted: Mapping[str, Any]) -> Iterator[Change]:
    for name, value in wanted.items():
        if is_changed(answers, name, value):
            is_secret = name in SETTINGS and SETTINGS[name].is_secret
            yield Change(name, path_of(answers, name), before_of(answers, name), value, is_secret)


def _for_exports(answers: Answers) -> dict[str, Any]:
    """The answers for the backend's store that its config.toml does not hold."""
    prefix = f"storage.{answers.backend()}."
    return {
        name: answers.value(name)
        for name in SETTINGS
        if name.startswith(prefix) and not is_read(name, answers.situation.target)
    }


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
    return {**_needed(answers), **found} if "memory" in touched or _may_not_start(answers) else found


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


def _needed(answers: Answers) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True)
class EncryptedValues:
    """The values as they are written, the text of a key file to make first (None: there is one, or none is needed),
    and sentences about secrets that stay plain."""

    values: Mapping[KeyPath, Any] = field(repr=False)
    new_key: str | None = field(repr=False)
    notes: tuple[str, ...]


def encrypted_values(
    values: Mapping[KeyPath, Any], secrets: frozenset[KeyPath], situation: Situation
) -> EncryptedValues:
    """Encrypt the values at the paths of `secrets`.

    What is encrypted already, names 1Password (`op://`) or a variable (`${NAME}`) is written as it is. Raises
    SecretUnreadable where the key file is damaged, or missing next to encrypted values.
    """
    written = dict(values)
    notes: list[str] = []
    to_encrypt: list[KeyPath] = []
    for path in values:
        if path not in secrets or not values[path] or is_encrypted(values[path]) or is_variable(values[path]):
            notes += _reference_note(path, values[path], situation) if path in secrets else []
            continue
        why_plain = _why_plain(path, situation)
        if why_plain is None:
            to_encrypt.append(path)
        else:
            notes.append(f"{'.'.join(path)} is written as plain text because {why_plain}")
    new_key = None
    if to_encrypt:
        key, new_key = _key(situation, to_encrypt)
        if situation.target.is_modern and (situation.config_dir / KEY_FILE).is_symlink():
            notes.append(f"{KEY_FILE} is a link, which ZeroClaw 0.8.0 and later refuses. Replace it with the file.")
        written |= {path: seal(values[path], key) for path in to_encrypt}
    return EncryptedValues(written, new_key, tuple(notes))


def _reference_note(path: KeyPath, value: str, situation: Situation) -> list[str]:
    if not value.startswith(ELSEWHERE) or situation.target.is_modern:
        return []
    return [f"{'.'.join(path)} is a 1Password reference (op://), which ZeroClaw up to 0.7.5 does not resolve."]


def _why_plain(path: KeyPath, situation: Situation) -> str | None:
    """Why a secret is not encrypted here, None where it is."""
    if path == _QDRANT_KEY:
        return "ZeroClaw up to 0.7.5 does not decrypt it."
    if situation.document.get(("secrets", "encrypt")) is False:
        return "[secrets] encrypt is false."
    return None


def _key(situation: Situation, to_encrypt: Sequence[KeyPath]) -> tuple[bytes, str | None]:
    """The 32 bytes to encrypt with, and the text of their file where it has to be made."""
    if not os.path.lexists(situation.config_dir / KEY_FILE):
        unreadable = encrypted_names_in(situation.document.values)
        if not unreadable:
            text = new_key_text()
            return bytes.fromhex(text.strip()), text
        names = " and ".join(".".join(path) for path in to_encrypt)
        raise SecretUnreadable(
            f"{names} cannot be encrypted: {missing_key_words(situation.config_dir, unreadable)}",
            hint=f"{WAYS_WITHOUT_KEY} The file stays as it is.",
        )
    return read_key(situation.config_dir), None


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


def _is_switched(answers: Answers, changed: frozenset[str]) -> bool:
    return bool({BACKEND, PROVIDER} & changed) and answers.backend() != answers.situation.backend


def _of_the_switch(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    old, new = answers.situation.backend, answers.backend()
    if not _is_switched(answers, changed) or not _may_hold_memories(answers.situation):
        return
    if has_database(old) and has_database(new):
        yield "The memories stay in use because SQLite and Lucid share one database."
    else:
        yield f"The memories in {BACKEND_TITLES[old]} are not moved, and no longer recalled."


def _may_hold_memories(situation: Situation) -> bool:
    """True where the backend in use may have memories: a server is not asked."""
    is_remote = situation.backend in _REMOTE
    return (
        situation.backend in BACKEND_TITLES
        and not keeps_nothing(situation.backend)
        and (is_remote or bool(situation.found))
    )


def left_store(plan: Plan) -> str | None:
    """The backend whose memories the plan leaves behind and `zeroclaw memory copy` can bring along; else None."""
    answers = plan.answers
    old, new = answers.situation.backend, answers.backend()
    is_left = _is_switched(answers, frozenset(change.name for change in plan.changes))
    is_shared = has_database(old) and has_database(new)
    can_copy = is_left and not is_shared and not keeps_nothing(new)
    return old if can_copy and _may_hold_memories(answers.situation) else None


def _of_unasked_keys(answers: Answers, changed: frozenset[str]) -> Iterator[str]:
    """Why unrequested keys are added to an existing file."""
    if answers.situation.is_new:
        return
    if answers.writes_defaults():
        if answers.situation.has_no_key:
            title = BACKEND_TITLES[answers.backend()]
            yield f"config.toml has no settings yet, so all defaults for {title} are added."
        return
    unasked = [name for name in _needed(answers) if name in changed and not answers.is_asked(name)]
    if unasked:
        keys = _listed([name.removeprefix("memory.") for name in unasked])
        are, them = ("is", "it") if len(unasked) == 1 else ("are", "them")
        fails = "0.8.0 ignores a [memory]" if answers.situation.target.is_modern else "up to 0.7.5 does not start"
        yield f"{keys} {are} added because ZeroClaw {fails} without {them}."


def _of_hygiene(answers: Answers, after: Mapping[str, Any], changed: frozenset[str]) -> Iterator[str]:
    if not _is_switched(answers, changed) or answers.situation.is_new:
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
