"""An edit that cannot be done is one sentence that names the key and shows no value."""

from __future__ import annotations

import pytest

from zeroclaw_tui.config.document import ConfigDocument, Splice
from zeroclaw_tui.memory.errors import BrokenConfig, InspectorError, UsageError


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("memory = 'hunter2'\n", "memory is a single value"),
        ("memory = ['hunter2']\n", "memory is a list"),
        ("[[memory]]\nqdrant.url = 'hunter2'\n", "memory is a list"),
        ("[[memory]]\n[memory.qdrant]\nurl = 'hunter2'\n", "memory is a list"),
        ("[memory]\nqdrant = 'hunter2'\n", "memory.qdrant is a single value"),
        ("[memory.qdrant.url]\nx = 'hunter2'\n", "memory.qdrant.url is a table"),
        ("memory = {qdrant = {url = {x = 'hunter2'}}}\n", "memory.qdrant.url is a table"),
        ("[[memory.qdrant.url]]\nx = 'hunter2'\n", "memory.qdrant.url is a list of tables"),
    ],
)
def test_a_way_that_leads_through_no_table(text: str, named: str) -> None:
    with pytest.raises(BrokenConfig) as caught:
        ConfigDocument.from_text(text).with_values({("memory", "qdrant", "url"): "new-secret"})
    assert named in caught.value.message
    assert "memory.qdrant.url" in caught.value.message
    assert caught.value.hint
    assert "hunter2" not in str(caught.value)
    assert "new-secret" not in str(caught.value)


def test_two_changes_that_contradict_each_other() -> None:
    with pytest.raises(BrokenConfig, match="a is a single value"):
        ConfigDocument.from_text("").with_values({("a",): 1, ("a", "b"): 2})


def test_bytes_that_are_no_text_are_not_written() -> None:
    with pytest.raises(UsageError, match=r"memory\.backend holds bytes that are not text"):
        ConfigDocument.from_text("").with_values({("memory", "backend"): "a\udcff"})


def test_a_table_is_no_value() -> None:
    with pytest.raises(TypeError):
        ConfigDocument.from_text("").with_values({("memory",): {}})


@pytest.mark.parametrize(
    "slip",
    [
        Splice(0, 0, "memory.backend = 'y'\n"),
        Splice(0, 0, "backend = "),
        Splice(0, 0, "other = 'x'\n"),
        Splice(0, 7, "memory.backend = 'x'\n"),
        Splice(0, 7, "# Mine\nmemory.backend = 'x'\n"),
        Splice(12, 12, "[memory]\nbackend = 'x'\n# more\n"),
        Splice(10, 12, "\n[memory]\nbackend = 'x'\n"),
    ],
)
def test_a_slip_is_an_error_and_never_a_text(monkeypatch: pytest.MonkeyPatch, slip: Splice) -> None:
    """Wrong values, and right ones beside which a line of the file is lost, changed, new or has another line end."""
    monkeypatch.setattr("zeroclaw_tui.config.document.new_keys", lambda *_: slip)
    with pytest.raises(InspectorError, match=r"memory\.backend could not be changed safely, so nothing was written"):
        ConfigDocument.from_text("# mine\n[z]\r\n").with_values({("memory", "backend"): "x"})


def test_tables_nested_beyond_reading() -> None:
    document = ConfigDocument.from_text(f"{'.'.join(['a'] * 5000)} = 1\n")
    with pytest.raises(BrokenConfig, match="nests its tables too deeply"):
        document.with_values({("memory", "backend"): "x"})
