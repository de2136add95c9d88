"""From answers to the exact change of config.toml, with its notes and warnings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from zeroclaw_tui.backends.factory import has_database, keeps_nothing
from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.config.save import save_config
from zeroclaw_tui.config.schema import (
    SETTINGS,
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
    environment_lines,
    is_read,
)
from zeroclaw_tui.config.storage import OTHERS_DB_URL
from zeroclaw_tui.config.toml import KeyPath
from zeroclaw_tui.config.validate import check_change
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.onboard.answers import (
    DB_URL,
    KEYWORD_WEIGHT,
    VECTOR_WEIGHT,
    Answers,
    check_weights,
    others_database,
)
from zeroclaw_tui.onboard.plan_notes import is_switched, may_hold_memories, notes_of
from zeroclaw_tui.onboard.situation import Situation, warnings_then
from zeroclaw_tui.onboard.wanted import (
    NEEDED_FOR,
    all_wanted,
    before_of,
    first_key,
    is_backend_asked,
    is_changed,
    new_document,
    path_of,
)

_EXAMPLES = {
    DB_URL: "postgres://user:password@host:5432/zeroclaw",
    "storage.qdrant.url": "http://localhost:6333",
    "memory.embedding_provider": "custom:https://host/v1",
}
_QDRANT_KEY: KeyPath = ("memory", "qdrant", "api_key")


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
    wanted = all_wanted(answers)
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
    needs = " and ".join(NEEDED_FOR.get(name, name) for name in missing)
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


def left_store(plan: Plan) -> str | None:
    """The backend whose memories the plan leaves behind and `zeroclaw memory copy` can bring along; else None."""
    answers = plan.answers
    old, new = answers.situation.backend, answers.backend()
    is_left = is_switched(answers, frozenset(change.name for change in plan.changes))
    is_shared = has_database(old) and has_database(new)
    can_copy = is_left and not is_shared and not keeps_nothing(new)
    return old if can_copy and may_hold_memories(answers.situation) else None
