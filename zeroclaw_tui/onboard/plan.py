"""From answers to the exact change of config.toml, with its notes and warnings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from zeroclaw_tui.backends.factory import has_database, keeps_nothing
from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.save import save_config
from zeroclaw_tui.config.schema import SETTINGS
from zeroclaw_tui.config.secrets import (
    KEY_FILE,
    WAYS_WITHOUT_KEY,
    SecretUnreadable,
    encrypt,
    encrypted_names_in,
    is_encrypted,
    is_variable,
    make_key_file,
    missing_key_words,
    new_key_text,
    read_key,
)
from zeroclaw_tui.config.setting_names import check_sqlite_only
from zeroclaw_tui.config.toml import KeyPath
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.onboard.answers import KEYWORD_WEIGHT, VECTOR_WEIGHT, Answers
from zeroclaw_tui.onboard.plan_notes import is_switched, may_hold_memories, notes_of
from zeroclaw_tui.onboard.situation import Situation, warnings_then
from zeroclaw_tui.onboard.wanted import (
    all_wanted,
    before_of,
    first_key,
    is_backend_asked,
    is_changed,
    new_document,
    path_of,
)


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
    """What would be written; `after` equals `before` when there is nothing to change."""

    answers: Answers = field(repr=False)
    before: ConfigDocument = field(repr=False)
    after: ConfigDocument = field(repr=False)
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    """Sentences for the review: what stays and why, what is lost, and the warnings that only the new file has."""
    warnings: tuple[str, ...] = ()
    """The warnings of today that the new file still has."""
    new_key: str | None = field(default=None, repr=False)
    """The text of a `.secret_key` to be made first."""

    @property
    def is_empty(self) -> bool:
        """Whether the file does not change."""
        return not self.changes


def make_plan(answers: Answers) -> Plan:
    """What would be written for these answers; a new file is the commented defaults file of the backend.

    Raises UsageError for a missing answer, with the flag to give it, and for what ZeroClaw would refuse; BrokenConfig
    for a wrong type in a key to be edited; SecretUnreadable where a secret cannot be encrypted.
    """
    _check_complete(answers)
    situation, before = answers.situation, answers.situation.document
    wanted = all_wanted(answers)
    changes = tuple(
        Change(name, path_of(answers, name), before_of(answers, name), value, _is_secret(name))
        for name, value in wanted.items()
        if is_changed(answers, name, value)
    )
    if any(change.name in (VECTOR_WEIGHT, KEYWORD_WEIGHT) and change.after == 0 for change in changes):
        _check_weights(answers)
    notes = notes_of(answers, wanted, frozenset(change.name for change in changes))
    if not changes:
        return Plan(answers, before, before, (), notes, situation.warnings)
    plain = {change.path: change.after for change in changes}
    written, new_key, secret_notes = _encrypted(
        plain, [change.path for change in changes if change.is_secret], situation
    )
    base = new_document(answers.backend(), situation.target, written) if situation.is_new else before
    if situation.has_no_key:
        path, value = first_key(situation.target)
        changes = (Change(path[0], path, None, value), *changes)
        written = {path: value, **written}
    after = base.with_values(written)
    if situation.target.numbers >= (0, 8, 4):
        check_sqlite_only(after, {".".join(change.path) for change in changes})
    # What a new key encrypts can be read only once its file is there.
    then = warnings_then(situation, after if new_key is None else after.with_values(plain))
    notes += (*secret_notes, *(warning for warning in then if warning not in situation.warnings))
    warnings = tuple(warning for warning in situation.warnings if warning in then)
    return Plan(answers, before, after, changes, notes, warnings, new_key)


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


def _is_secret(name: str) -> bool:
    return name in SETTINGS and SETTINGS[name].is_secret


def _check_complete(answers: Answers) -> None:
    """Raise UsageError for what is missing where the backend is answered for."""
    for name in answers.missing() if is_backend_asked(answers) else ():
        raise UsageError(
            f"The backend {answers.backend()} needs {name}.",
            hint=f"Pass --set {name}=URL",
            title="An answer is missing",
        )


def _check_weights(answers: Answers) -> None:
    if not answers.value(VECTOR_WEIGHT) and not answers.value(KEYWORD_WEIGHT):
        raise UsageError(
            "Both weights are 0, so every hybrid score would be 0.",
            hint=f"Raise one of them: --set {VECTOR_WEIGHT}={SETTINGS[VECTOR_WEIGHT].default}.",
        )


def _encrypted(
    values: Mapping[KeyPath, Any], secrets: Sequence[KeyPath], situation: Situation
) -> tuple[dict[KeyPath, Any], str | None, list[str]]:
    """The values as they are written, the text of a key file to be made first, and notes about secrets in plain text.

    What is encrypted already or names a variable is written as it is. Raises SecretUnreadable.
    """
    notes: list[str] = []
    to_encrypt: list[KeyPath] = []
    for path in secrets:
        if not values[path] or is_encrypted(values[path]) or is_variable(values[path]):
            continue
        if path == ("memory", "qdrant", "api_key"):
            notes.append(f"{'.'.join(path)} is written as plain text because ZeroClaw up to 0.7.5 does not decrypt it.")
        elif situation.document.get(("secrets", "encrypt")) is False:
            notes.append(f"{'.'.join(path)} is written as plain text because [secrets] encrypt is false.")
        else:
            to_encrypt.append(path)
    if not to_encrypt:
        return dict(values), None, notes
    key, new_key = _key(situation, to_encrypt)
    return {**values, **{path: encrypt(values[path], key) for path in to_encrypt}}, new_key, notes


def _key(situation: Situation, to_encrypt: Sequence[KeyPath]) -> tuple[bytes, str | None]:
    """The bytes to encrypt with, and the text of their file where it has to be made."""
    if os.path.lexists(situation.config_dir / KEY_FILE):
        return read_key(situation.config_dir), None
    unreadable = encrypted_names_in(situation.document.values)
    if unreadable:
        names = " and ".join(".".join(path) for path in to_encrypt)
        raise SecretUnreadable(
            f"{names} cannot be encrypted: {missing_key_words(situation.config_dir, unreadable)}",
            hint=f"{WAYS_WITHOUT_KEY} The file stays as it is.",
        )
    text = new_key_text()
    return bytes.fromhex(text.strip()), text


def left_store(plan: Plan) -> str | None:
    """The backend whose memories the plan leaves behind and `zeroclaw memory copy` can bring along; else None."""
    answers = plan.answers
    old, new = answers.situation.backend, answers.backend()
    is_left = is_switched(answers, frozenset(change.name for change in plan.changes))
    is_shared = has_database(old) and has_database(new)
    can_copy = is_left and not is_shared and not keeps_nothing(new)
    return old if can_copy and may_hold_memories(answers.situation) else None
