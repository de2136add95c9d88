"""Compute the exact change of config.toml from the answers, with notes and warnings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from zeroclaw_tui.backends.factory import known_backend
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
from zeroclaw_tui.onboard.situation import Situation, warnings_with
from zeroclaw_tui.onboard.wanted import (
    all_wanted,
    before_of,
    first_key,
    is_backend_answered,
    is_changed,
    new_document,
    path_of,
)


@dataclass(frozen=True, slots=True)
class KeyChange:
    """The change of one key. `before` is None for a new key. Secrets are decrypted here and never shown."""

    name: str
    path: KeyPath
    before: Any = field(repr=False)
    after: Any = field(repr=False)
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned change; `after` equals `before` if there is nothing to change."""

    answers: Answers = field(repr=False)
    before: ConfigDocument = field(repr=False)
    after: ConfigDocument = field(repr=False)
    changes: tuple[KeyChange, ...]
    notes: tuple[str, ...] = ()
    """Sentences for the review: what is unchanged and why, what is lost, and the new warnings."""
    warnings: tuple[str, ...] = ()
    """The current warnings that still apply to the new file."""
    new_key: str | None = field(default=None, repr=False)
    """The text of a `.secret_key` to create first."""

    @property
    def is_empty(self) -> bool:
        """Whether the file does not change."""
        return not self.changes


def make_plan(answers: Answers) -> Plan:
    """Plan the change for these answers; a new file is the commented defaults file of the backend.

    Raises UsageError for a missing answer, with the flag for it, and for a config that ZeroClaw would refuse;
    BrokenConfig for a wrong type in a key to edit; SecretUnreadable if a secret cannot be encrypted.
    """
    _check_complete(answers)
    situation, before = answers.situation, answers.situation.document
    wanted = all_wanted(answers)
    changes = tuple(
        KeyChange(name, path_of(answers, name), before_of(answers, name), value, _is_secret(name))
        for name, value in wanted.items()
        if is_changed(answers, name, value)
    )
    if any(change.name in (VECTOR_WEIGHT, KEYWORD_WEIGHT) and change.after == 0 for change in changes):
        _check_weights(answers)
    notes = notes_of(answers, wanted, frozenset(change.name for change in changes))
    if not changes:
        return Plan(answers, before, before, (), notes, situation.warnings)
    plain = {change.path: change.after for change in changes}
    written, new_key, secret_notes = _encrypt(plain, [change.path for change in changes if change.is_secret], situation)
    base = new_document(answers.backend(), situation.target, written) if situation.is_new else before
    if situation.has_no_key:
        path, value = first_key(situation.target)
        changes = (KeyChange(path[0], path, None, value), *changes)
        written = {path: value, **written}
    after = base.with_values(written)
    if situation.target.numbers >= (0, 8, 4):
        check_sqlite_only(after, {".".join(change.path) for change in changes})
    # Values encrypted with a new key can be decrypted only after its file is written.
    then = warnings_with(situation, after if new_key is None else after.with_values(plain))
    notes += (*secret_notes, *(warning for warning in then if warning not in situation.warnings))
    warnings = tuple(warning for warning in situation.warnings if warning in then)
    return Plan(answers, before, after, changes, notes, warnings, new_key)


def apply_plan(plan: Plan) -> str | None:
    """Write the key file if needed, then config.toml with its backup. Return the backup's name, None without one.

    Raises the errors of config.save; an existing key file is never changed.
    """
    situation = plan.answers.situation
    if plan.is_empty:
        return None
    if plan.new_key is not None:
        make_key_file(situation.config_dir, plan.new_key)
    backup = save_config(
        situation.config_file, situation.raw, plan.after.to_bytes(), situation.install.own_dir, datetime.now(UTC)
    )
    return None if backup is None else backup.name


def _is_secret(name: str) -> bool:
    return name in SETTINGS and SETTINGS[name].is_secret


def _check_complete(answers: Answers) -> None:
    """Raise UsageError if the backend is answered and a required setting is missing."""
    for name in answers.missing() if is_backend_answered(answers) else ():
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


def _encrypt(
    values: Mapping[KeyPath, Any], secrets: Sequence[KeyPath], situation: Situation
) -> tuple[dict[KeyPath, Any], str | None, list[str]]:
    """The values to write, the text of a key file to create first, and notes about secrets in plain text.

    Values that are encrypted or the name of a variable are written unchanged. Raises SecretUnreadable.
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
    """The encryption key, and the text of its file if that has to be created."""
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


def previous_store(plan: Plan) -> str | None:
    """The previous backend, if its memories stay behind and `zeroclaw memory copy` can copy them; else None."""
    answers = plan.answers
    old, new = answers.situation.backend, answers.backend()
    is_left = is_switched(answers, frozenset(change.name for change in plan.changes))
    is_shared = known_backend(old).has_database and known_backend(new).has_database
    can_copy = is_left and not is_shared and not known_backend(new).keeps_nothing
    return old if can_copy and may_hold_memories(answers.situation) else None
