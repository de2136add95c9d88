"""Secrets on their way into config.toml: encrypted where ZeroClaw decrypts them, else plain."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zeroclaw_tui.config.document.document import KeyPath
from zeroclaw_tui.config.secrets import (
    ELSEWHERE,
    KEY_FILE,
    WAYS_WITHOUT_KEY,
    SecretUnreadable,
    encrypted_names_in,
    is_encrypted,
    is_variable,
    missing_key_words,
    new_key_text,
    read_key,
    sealed,
)
from zeroclaw_tui.onboard.situation import Situation

_QDRANT_KEY: KeyPath = ("memory", "qdrant", "api_key")


@dataclass(frozen=True, slots=True)
class Sealing:
    """The values as they are written, the text of a key file to make first (None: there is one, or none is needed),
    and sentences about secrets that stay plain."""

    values: Mapping[KeyPath, Any] = field(repr=False)
    new_key: str | None = field(repr=False)
    notes: tuple[str, ...]


def seal_values(values: Mapping[KeyPath, Any], secrets: frozenset[KeyPath], situation: Situation) -> Sealing:
    """Encrypt the values at the paths of `secrets`.

    What is encrypted already, names 1Password (`op://`) or a variable (`${NAME}`) is written as it is. Raises
    SecretUnreadable where the key file is damaged, or missing beside encrypted values.
    """
    written = dict(values)
    notes: list[str] = []
    to_seal: list[KeyPath] = []
    for path in values:
        if path not in secrets or not values[path] or is_encrypted(values[path]) or is_variable(values[path]):
            notes += _told(path, values[path], situation) if path in secrets else []
            continue
        why_plain = _why_plain(path, situation)
        if why_plain is None:
            to_seal.append(path)
        else:
            notes.append(f"{'.'.join(path)} is written as plain text: {why_plain}")
    new_key = None
    if to_seal:
        key, new_key = _key(situation, to_seal)
        if situation.target.is_modern and (situation.config_dir / KEY_FILE).is_symlink():
            notes.append(f"{KEY_FILE} is a link, and ZeroClaw from 0.8.0 on refuses such a key: put the file there.")
        written |= {path: sealed(values[path], key) for path in to_seal}
    return Sealing(written, new_key, tuple(notes))


def _told(path: KeyPath, value: str, situation: Situation) -> list[str]:
    if not value.startswith(ELSEWHERE) or situation.target.is_modern:
        return []
    return [f"{'.'.join(path)} names 1Password (op://), which ZeroClaw up to 0.7.5 takes literally."]


def _why_plain(path: KeyPath, situation: Situation) -> str | None:
    """Why a secret is not encrypted here, None where it is."""
    if path == _QDRANT_KEY:
        return "ZeroClaw up to 0.7.5 would take an encrypted one literally."
    if situation.document.get(("secrets", "encrypt")) is False:
        return "[secrets] encrypt is false."
    return None


def _key(situation: Situation, to_seal: Sequence[KeyPath]) -> tuple[bytes, str | None]:
    """The 32 bytes to encrypt with, and the text of their file where it has to be made."""
    if not os.path.lexists(situation.config_dir / KEY_FILE):
        unreadable = encrypted_names_in(situation.document.values)
        if not unreadable:
            text = new_key_text()
            return bytes.fromhex(text.strip()), text
        names = " and ".join(".".join(path) for path in to_seal)
        raise SecretUnreadable(
            f"{names} cannot be encrypted: {missing_key_words(situation.config_dir, unreadable)}",
            hint=f"{WAYS_WITHOUT_KEY} The file stays as it is.",
        )
    return read_key(situation.config_dir), None
