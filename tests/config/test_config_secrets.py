"""Encrypted values, and the key file: created once, complete, private and never replaced."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memories import Refused

from zeroclaw_tui.config.secrets import (
    KEY_FILE,
    SecretUnreadable,
    decrypt,
    encrypt,
    encrypted_names_in,
    is_encrypted,
    make_key_file,
    new_key_text,
    read_key,
)

KEY = bytes(range(32))
SEALED = "enc2:000102030405060708090a0bfa9025744c64d1840539ee4a2eead0a68395fd7dd1093d"
MASKED = "enc:736a2f77617672"


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    (tmp_path / KEY_FILE).write_text(f"  {KEY.hex()}\n")
    return tmp_path


@pytest.mark.parametrize("value", [SEALED, MASKED, "sk-test"])
def test_every_form_of_a_value_is_decrypted(config_dir: Path, value: str) -> None:
    assert decrypt(value, config_dir) == "sk-test"


def test_encryption_gives_the_same_bytes_as_zeroclaw() -> None:
    assert encrypt("sk-test", KEY, bytes(range(12))) == SEALED
    assert encrypt("", KEY, bytes(range(12))) == ""


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    key=st.binary(min_size=32, max_size=32),
    nonce=st.binary(min_size=12, max_size=12),
)
def test_encrypted_values_can_be_decrypted(
    tmp_path_factory: pytest.TempPathFactory, text: str, key: bytes, nonce: bytes
) -> None:
    folder = tmp_path_factory.mktemp("key")
    (folder / KEY_FILE).write_text(key.hex())
    assert is_encrypted(encrypt(text, key, nonce))
    assert decrypt(encrypt(text, key, nonce), folder) == text


@given(value=st.text().map(lambda tail: f"enc2:{tail}") | st.binary().map(lambda tail: f"enc2:{tail.hex()}"))
def test_a_damaged_value_is_reported_without_showing_it(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    folder = tmp_path_factory.mktemp("key")
    (folder / KEY_FILE).write_text(KEY.hex())
    with pytest.raises(SecretUnreadable):
        decrypt(value, folder)


def test_a_missing_key_file_is_reported_and_never_created(tmp_path: Path) -> None:
    for value in (SEALED, MASKED):
        with pytest.raises(SecretUnreadable, match=r"\.secret_key is missing"):
            decrypt(value, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_wrong_key_is_reported(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_text("00" * 32)
    with pytest.raises(SecretUnreadable, match="was not made with"):
        decrypt(SEALED, tmp_path)


@pytest.mark.parametrize("text", ["", "00" * 31, "zz" * 32, "é" * 64])
def test_an_invalid_key_file_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / KEY_FILE).write_text(text)
    with pytest.raises(SecretUnreadable, match="64 hex digits"):
        decrypt(SEALED, tmp_path)


def test_one_password_reference_is_reported(config_dir: Path) -> None:
    with pytest.raises(SecretUnreadable, match="1Password"):
        decrypt("op://vault/item/field", config_dir)


def test_a_created_key_file_is_private_and_usable(tmp_path: Path) -> None:
    """The given text is the key; a missing config dir is created."""
    config_dir = tmp_path / ".zeroclaw"
    text = new_key_text()
    make_key_file(config_dir, text)
    assert (config_dir / KEY_FILE).read_text() == text
    assert stat.S_IMODE((config_dir / KEY_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(config_dir.stat().st_mode) == 0o700
    assert [path.name for path in config_dir.iterdir()] == [KEY_FILE]
    assert decrypt(encrypt("postgres://ä", read_key(config_dir)), config_dir) == "postgres://ä"


def test_an_existing_key_file_is_never_replaced(tmp_path: Path) -> None:
    for content in ("", "damaged", "11" * 32):
        (tmp_path / KEY_FILE).write_text(content)
        with pytest.raises(Refused, match="exists already and was not changed"):
            make_key_file(tmp_path, new_key_text())
        assert (tmp_path / KEY_FILE).read_text() == content
    (tmp_path / KEY_FILE).unlink()
    (tmp_path / KEY_FILE).symlink_to("elsewhere")
    with pytest.raises(Refused):
        make_key_file(tmp_path, new_key_text())
    assert not (tmp_path / "elsewhere").exists()
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_a_key_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="cannot be written"):
        make_key_file(tmp_path / "file", new_key_text())


def test_new_keys_and_nonces_differ_each_time() -> None:
    texts = {new_key_text() for _ in range(20)}
    assert len(texts) == 20
    assert all(re.fullmatch("[0-9a-f]{64}", text) for text in texts)
    key = bytes(range(32))
    values = {encrypt("the same", key) for _ in range(20)}
    assert len({value[:29] for value in values}) == 20
    assert all(value.startswith("enc2:") for value in values)
    assert encrypt("", key) == ""


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"channels": {"a": {"bot_token": "enc2:00"}}}, True),
        ({"routes": [{"api_key": "x"}, {"api_key": "enc:00"}]}, True),
        ({"keys": [["enc2:00"]]}, True),
        ({"api_key": "op://vault/item/field"}, False),
        ({"note": "it is written enc2:…", "enc2:": 1, "on": True, "days": 7}, False),
        ({}, False),
    ],
)
def test_encrypted_values_are_found_wherever_they_are(values: Any, found: bool) -> None:
    """Only values that need the key file; 1Password's references do not."""
    assert bool(encrypted_names_in(values)) is found
