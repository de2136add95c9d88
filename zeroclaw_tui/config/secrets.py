"""ZeroClaw's encrypted config values. The key file is only ever read: a new key would make every old value useless."""

from __future__ import annotations

import binascii
import re
from itertools import cycle
from pathlib import Path

from zeroclaw_tui.memory.errors import InspectorError

KEY_FILE = ".secret_key"
SEALED = "enc2:"
MASKED = "enc:"
ELSEWHERE = "op://"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16


class SecretUnreadable(InspectorError):
    """An encrypted value that cannot be had here."""

    title = "Secret not readable"


def is_encrypted(value: str) -> bool:
    """True for a value that is not the secret itself."""
    return value.startswith((SEALED, MASKED, ELSEWHERE))


def reveal(value: str, config_dir: Path | None) -> str:
    """The plain text of a config value; a value without a prefix is plain already.

    `enc2:` is hex of a 12-byte nonce, the ChaCha20-Poly1305 text and its 16-byte tag, without associated data; `enc:`
    is hex of a repeating-key XOR (the oldest versions). Raises SecretUnreadable, never with the value in it.
    """
    if value.startswith(ELSEWHERE):
        raise SecretUnreadable(
            "The value lies in 1Password (op://) and is not asked for here.", hint="Put the key into the environment."
        )
    if value.startswith(SEALED):
        return _open_sealed(_from_hex(value.removeprefix(SEALED)), read_key(config_dir))
    if value.startswith(MASKED):
        key = read_key(config_dir)
        masked = _from_hex(value.removeprefix(MASKED))
        return _text(bytes(byte ^ mask for byte, mask in zip(masked, cycle(key), strict=False)))
    return value


def seal(plain: str, key: bytes, nonce: bytes) -> str:
    """The `enc2:` form of a text, as ZeroClaw writes it; an empty text stays empty."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    if not plain:
        return ""
    return SEALED + (nonce + ChaCha20Poly1305(key).encrypt(nonce, plain.encode(), None)).hex()


def read_key(config_dir: Path | None) -> bytes:
    """The 32 bytes of `.secret_key` (64 hex digits) of a config dir. Never makes one; raises SecretUnreadable."""
    if config_dir is None:
        raise SecretUnreadable(f"There is no config dir, so no {KEY_FILE} to decrypt with.")
    path = config_dir / KEY_FILE
    try:
        text = path.read_text("ascii").strip()
    except FileNotFoundError as error:
        raise SecretUnreadable(
            f"The key file {path} is missing.",
            hint="ZeroClaw would make a new one, with which the value stays unreadable.",
        ) from error
    except UnicodeDecodeError as error:
        raise _no_key(path) from error
    except OSError as error:
        raise SecretUnreadable(f"The key file {path} cannot be read: {error.strerror}.") from error
    if not re.fullmatch(rf"[0-9a-fA-F]{{{2 * _KEY_BYTES}}}", text):
        raise _no_key(path)
    return bytes.fromhex(text)


def _no_key(path: Path) -> SecretUnreadable:
    return SecretUnreadable(
        f"The key file {path} is not {2 * _KEY_BYTES} hex digits.", hint="Restore it from a backup."
    )


def _from_hex(text: str) -> bytes:
    try:
        return binascii.unhexlify(text.strip())
    except ValueError as error:
        raise SecretUnreadable("The encrypted value is damaged: it is not hex.", hint="Write it again.") from error


def _open_sealed(sealed: bytes, key: bytes) -> str:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    if len(sealed) < _NONCE_BYTES + _TAG_BYTES:
        raise SecretUnreadable("The encrypted value is damaged: it is too short.", hint="Write it again.")
    try:
        plain = ChaCha20Poly1305(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
    except InvalidTag as error:
        raise SecretUnreadable(
            f"The encrypted value was not made with the {KEY_FILE} found, or is damaged.",
            hint="Restore the key file that belongs to this config.",
        ) from error
    return _text(plain)


def _text(plain: bytes) -> str:
    try:
        return plain.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SecretUnreadable(
            f"The encrypted value was not made with the {KEY_FILE} found, or is damaged.",
            hint="Restore the key file that belongs to this config.",
        ) from error
