"""Invalid TOML and impossible edits are reported in one sentence that shows no value."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.memories import BrokenConfig, InspectorError, UsageError

from zeroclaw_tui.config.document import ConfigDocument, checked_edit
from zeroclaw_tui.config.toml import read_toml

SECRET = "hunter2-hunter2"


def message_of(raw: bytes, folder: Path) -> BrokenConfig:
    """Return the error message for a file's bytes, which is the same for both ways of reading."""
    path = folder / "config.toml"
    path.write_bytes(raw)
    with pytest.raises(BrokenConfig) as from_file:
        read_toml(path)
    with pytest.raises(BrokenConfig) as from_bytes:
        ConfigDocument.from_bytes(raw, path)
    assert str(from_file.value) == str(from_bytes.value)
    error = from_file.value
    assert error.message.startswith(f"{path}, line ")
    assert error.hint
    assert "\n" not in str(error)
    assert SECRET not in str(error)
    return error


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[memory]\na = 1\n\n[x]\n[memory]\n", 5),
        ("model_routes = []\n[[model_routes]]\n", 2),
        ("a = {b = 1}\n[a.c]\n", 2),
        ("[[a]]\n[a]\n", 2),
        ("a = 1\na = 2\n", 2),
        ("a = {k = 1, k = 2}\n", 1),
    ],
)
def test_a_key_or_table_set_twice_is_reported_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    error = message_of(text.encode(), tmp_path)
    assert f", line {line}, column " in error.message
    assert "this key or table is set a second time here." in error.message


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        (f'k = "{SECRET}\n', "line 1, column", "a string is not closed"),
        (f"k = {SECRET}\n", "line 1, column 5", "a string needs quotes"),
        (f'k = """\n{SECRET}', "line 2, column 16", "a string is not closed"),
        (f'k = ["{SECRET}"\nj = 2\n', "line 2, column 1", "is not closed"),
        (f"[{SECRET.replace('-', '_')}\n", "line 1, column 17", "is not closed"),
        (f'k = "{SECRET}\x01"\n', "line 1, column 21", "control character"),
        (f'k = 1 "{SECRET}"\n', "line 1, column 7", "not valid TOML"),
        ("= 1\n", "line 1, column 1", "not valid TOML"),
    ],
)
def test_other_mistakes_have_their_own_messages(tmp_path: Path, text: str, place: str, what: str) -> None:
    error = message_of(text.encode(), tmp_path)
    assert place in error.message
    assert what in error.message


def test_bytes_that_are_no_text_are_reported(tmp_path: Path) -> None:
    error = message_of(b"\xef\xbb\xbfa = 1\nb = '\xc3\xa9\xff'\n", tmp_path)
    assert "line 2, column 7: this byte is not UTF-8 text." in error.message
    assert error.hint == "Save the file as UTF-8."


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("memory = 'hunter2'\n", "memory is not a table"),
        ("[[memory]]\nqdrant.url = 'hunter2'\n", "memory is not a table"),
        ("[memory]\nqdrant = 'hunter2'\n", "memory.qdrant is not a table"),
        ("[memory.qdrant.url]\nx = 'hunter2'\n", "it is a table"),
        ("[[memory.qdrant.url]]\nx = 'hunter2'\n", "it is a table"),
    ],
)
def test_a_key_below_a_value_that_is_no_table_is_refused(text: str, named: str) -> None:
    with pytest.raises(BrokenConfig) as caught:
        ConfigDocument.from_text(text).with_values({("memory", "qdrant", "url"): "new-secret"})
    assert named in caught.value.message
    assert "memory.qdrant.url" in caught.value.message
    assert caught.value.hint
    assert "hunter2" not in str(caught.value)
    assert "new-secret" not in str(caught.value)


def test_bytes_that_are_no_text_are_not_written() -> None:
    with pytest.raises(UsageError, match=r"memory\.backend is not valid UTF-8"):
        ConfigDocument.from_text("").with_values({("memory", "backend"): "a\udcff"})


def test_a_table_cannot_be_set_as_a_value() -> None:
    with pytest.raises(TypeError):
        ConfigDocument.from_text("").with_values({("memory",): {}})


@pytest.mark.parametrize(
    "text",
    [
        "other = 'x'\n# mine\n[z]\r\n",
        "memory.backend = 'x'\n[z]\r\n",
        "# Mine\nmemory.backend = 'x'\n[z]\r\n",
        "# mine\n[z]\r\n[memory]\nbackend = 'x'\n# more\n",
        "# mine\n[z]\n[memory]\nbackend = 'x'\n",
        "# mine\n[z]\r\n[other]\nbackend = 'x'\n",
    ],
)
def test_a_lost_changed_or_added_line_is_an_error(text: str) -> None:
    before = ConfigDocument.from_text("# mine\n[z]\r\n")
    with pytest.raises(InspectorError, match=r"memory\.backend could not be changed safely, so nothing was written"):
        checked_edit(before, text, {("memory", "backend"): "x"})


@pytest.mark.parametrize("value", ["[" * 50_000, "[" * 50_000 + "]" * 50_000, "{a = " * 50_000])
def test_extreme_nesting_is_refused(value: str) -> None:
    with pytest.raises(BrokenConfig, match="nests its values too deeply"):
        ConfigDocument.from_text(f"x = {value}\n")
