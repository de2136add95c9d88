"""Encrypted config values."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.config.secrets import KEY_FILE, SecretUnreadable, is_encrypted, reveal, seal

KEY = bytes(range(32))
SEALED = "enc2:000102030405060708090a0bfa9025744c64d1840539ee4a2eead0a68395fd7dd1093d"
MASKED = "enc:736a2f77617672"


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    (tmp_path / KEY_FILE).write_text(f"  {KEY.hex()}\n")
    return tmp_path


@pytest.mark.parametrize("value", [SEALED, MASKED, "sk-test"])
def test_every_form_of_a_value(config_dir: Path, value: str) -> None:
    assert reveal(value, config_dir) == "sk-test"


def test_sealing_gives_zeroclaws_own_bytes() -> None:
    assert seal("sk-test", KEY, bytes(range(12))) == SEALED
    assert seal("", KEY, bytes(range(12))) == ""


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    key=st.binary(min_size=32, max_size=32),
    nonce=st.binary(min_size=12, max_size=12),
)
def test_what_is_sealed_can_be_revealed(
    tmp_path_factory: pytest.TempPathFactory, text: str, key: bytes, nonce: bytes
) -> None:
    folder = tmp_path_factory.mktemp("key")
    (folder / KEY_FILE).write_text(key.hex())
    assert is_encrypted(seal(text, key, nonce))
    assert reveal(seal(text, key, nonce), folder) == text


@given(value=st.text().map(lambda tail: f"enc2:{tail}") | st.binary().map(lambda tail: f"enc2:{tail.hex()}"))
def test_any_damaged_value_is_a_sentence_without_the_value(
    tmp_path_factory: pytest.TempPathFactory, value: str
) -> None:
    folder = tmp_path_factory.mktemp("key")
    (folder / KEY_FILE).write_text(KEY.hex())
    with pytest.raises(SecretUnreadable):
        reveal(value, folder)


def test_missing_key_is_reported_and_never_made(tmp_path: Path) -> None:
    for value in (SEALED, MASKED):
        with pytest.raises(SecretUnreadable, match=r"\.secret_key is missing"):
            reveal(value, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_wrong_key_is_reported(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_text("00" * 32)
    with pytest.raises(SecretUnreadable, match="was not made with"):
        reveal(SEALED, tmp_path)


@pytest.mark.parametrize("text", ["", "00" * 31, "zz" * 32, "é" * 64])
def test_key_file_that_is_no_key_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / KEY_FILE).write_text(text)
    with pytest.raises(SecretUnreadable, match="64 hex digits"):
        reveal(SEALED, tmp_path)


def test_one_password_reference_is_reported(config_dir: Path) -> None:
    with pytest.raises(SecretUnreadable, match="1Password"):
        reveal("op://vault/item/field", config_dir)
