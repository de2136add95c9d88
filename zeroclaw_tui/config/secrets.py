"""The encrypted values of a config, and their key file.

A key file is never replaced: a new key would make every old value useless.
"""

from __future__ import annotations

import binascii
import os
import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from zeroclaw_tui.files.disk import FileChangedError, read_regular, replace_bytes
from zeroclaw_tui.memory.errors import InspectorError, Refused
from zeroclaw_tui.memory.text import first_names

KEY_FILE = ".secret_key"
SEALED = "enc2:"
MASKED = "enc:"
ELSEWHERE = "op://"
WAYS_WITHOUT_KEY = (
    f"Restore the old {KEY_FILE}, or remove the unreadable values from config.toml; "
    "with [secrets] encrypt = false new ones are stored as plain text."
)
"""The hint for encrypted values without their key file."""
_KEY_BYTES = 32
_NONCE_BYTES = 12


class SecretUnreadable(InspectorError):
    """An encrypted value that cannot be decrypted here."""

    title = "Secret not readable"


def is_encrypted(value: str) -> bool:
    """Whether a value is encrypted or stored elsewhere, so not the secret itself."""
    return value.startswith((SEALED, MASKED, ELSEWHERE))


def is_variable(value: str) -> bool:
    """Whether a value is only the name of a variable, `${NAME}`, so not a secret."""
    return re.fullmatch(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}", value) is not None


def decrypt(value: str, config_dir: Path | None) -> str:
    """Decrypt a config value; a value without a prefix is returned unchanged.

    `enc2:` is hex of a 12-byte nonce, the ChaCha20-Poly1305 ciphertext and its 16-byte tag, without associated data;
    `enc:` is hex of a repeating-key XOR (the oldest versions). Raises SecretUnreadable, which never contains the value.
    """
    if value.startswith(ELSEWHERE):
        raise SecretUnreadable(
            "The value is in 1Password (op://), which this program does not read.",
            hint="Set the key in an environment variable.",
        )
    if not is_encrypted(value):
        return value
    try:
        data = binascii.unhexlify(value.partition(":")[2].strip())
    except ValueError as error:
        raise SecretUnreadable("The encrypted value is damaged: it is not hex.", hint="Write it again.") from error
    key = read_key(config_dir)
    if value.startswith(MASKED):
        plain = bytes(byte ^ mask for byte, mask in zip(data, cycle(key), strict=False))
    else:
        plain = _decrypted(data, key)
    try:
        return plain.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_ours() from error


def _decrypted(sealed: bytes, key: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
    except (InvalidTag, ValueError) as error:
        raise _not_ours() from error


def _not_ours() -> SecretUnreadable:
    return SecretUnreadable(
        f"The encrypted value was not made with the {KEY_FILE} found, or is damaged.",
        hint="Restore the key file that belongs to this config.",
    )


def encrypt(plain: str, key: bytes, nonce: bytes | None = None) -> str:
    """Encrypt a text in the format `enc2:` of ZeroClaw, with a new random nonce; an empty text stays empty."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    if not plain:
        return ""
    nonce = os.urandom(_NONCE_BYTES) if nonce is None else nonce
    return SEALED + (nonce + ChaCha20Poly1305(key).encrypt(nonce, plain.encode(), None)).hex()


def encrypted_names_in(values: Any, name: str = "") -> tuple[str, ...]:
    """List the dotted names of the values of a parsed document that need the key file (`enc2:` or `enc:`)."""
    if isinstance(values, str):
        return (name,) if values.startswith((SEALED, MASKED)) else ()
    if isinstance(values, Mapping):
        below = [encrypted_names_in(value, f"{name}.{key}".lstrip(".")) for key, value in values.items()]
    else:
        below = [encrypted_names_in(value, name) for value in values] if isinstance(values, list | tuple) else []
    return tuple(dict.fromkeys(found for names in below for found in names))


def missing_key_words(config_dir: Path, names: Sequence[str]) -> str:
    """Make a sentence about a config with encrypted values without their key file."""
    are = "is" if len(names) == 1 else "are"
    return f"{first_names(names, most=3)} {are} encrypted with a key that is not here, {config_dir / KEY_FILE}."


def new_key_text() -> str:
    """The 64 hex digits of a new key, for `make_key_file`."""
    return os.urandom(_KEY_BYTES).hex()


def make_key_file(config_dir: Path, text: str) -> None:
    """Write a new key to `.secret_key`, 0600 and durable; a missing config dir is created, 0700.

    After a kill at any point, the file is complete or missing. Raises Refused if there is a key file already (it is
    unchanged) or writing fails, and DiskFull.
    """
    path = config_dir / KEY_FILE
    try:
        if path.is_symlink():
            raise FileChangedError
        replace_bytes(path, None, text.encode("ascii"))
    except FileChangedError as error:
        hint = "Run it again to encrypt with that key."
        raise Refused(f"The key file {path} exists already and was not changed.", hint=hint) from error


def read_key(config_dir: Path | None) -> bytes:
    """Read the 32 bytes of a config dir's `.secret_key` (64 hex digits). Never creates one; raises SecretUnreadable."""
    if config_dir is None:
        raise SecretUnreadable(f"There is no config directory, so there is no {KEY_FILE} to decrypt with.")
    path = config_dir / KEY_FILE
    try:
        text = read_regular(path).decode("ascii", "replace").strip()
    except FileNotFoundError as error:
        raise SecretUnreadable(
            f"The key file {path} is missing.",
            hint="Restore it from a backup. ZeroClaw would create a new one, which cannot decrypt this value.",
        ) from error
    except OSError as error:
        raise SecretUnreadable(f"The key file {path} cannot be read: {error.strerror}.") from error
    if not re.fullmatch(rf"[0-9a-fA-F]{{{2 * _KEY_BYTES}}}", text):
        raise SecretUnreadable(
            f"The key file {path} is not {2 * _KEY_BYTES} hex digits.", hint="Restore it from a backup."
        )
    return bytes.fromhex(text)
