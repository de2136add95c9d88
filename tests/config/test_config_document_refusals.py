"""An edit that cannot be done is one sentence that names the key and shows no value."""

from __future__ import annotations

import pytest

from zeroclaw_tui.config.document import ConfigDocument, checked_edit
from zeroclaw_tui.memory.errors import BrokenConfig, InspectorError, UsageError


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
def test_a_way_that_leads_through_no_table(text: str, named: str) -> None:
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


def test_a_table_is_no_value() -> None:
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
def test_a_line_that_was_lost_changed_or_added_is_an_error(text: str) -> None:
    before = ConfigDocument.from_text("# mine\n[z]\r\n")
    with pytest.raises(InspectorError, match=r"memory\.backend could not be changed safely, so nothing was written"):
        checked_edit(before, text, {("memory", "backend"): "x"})


@pytest.mark.parametrize("value", ["[" * 50_000, "[" * 50_000 + "]" * 50_000, "{a = " * 50_000])
def test_a_text_that_no_person_wrote_is_refused(value: str) -> None:
    with pytest.raises(BrokenConfig, match="nests its values too deeply"):
        ConfigDocument.from_text(f"x = {value}\n")
