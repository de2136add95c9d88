"""A document on stdout is JSON in UTF-8, whatever a memory holds; columns are counted in cells."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.cli.output import document
from zeroclaw_tui.memory.text import cells, cut, padded


def _printed(capfdbinary: pytest.CaptureFixture[bytes], value: object, *, compact: bool = False) -> bytes:
    document(value, compact=compact)
    return capfdbinary.readouterr().out


def test_text_comes_back_as_it_was(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    value = {"a": "日本 é 🦀", "n": None, "b": [1, 0.5, True], "z": "\x00\x1b[31m\x9b\u202e\u2028\x7f\r\n"}
    data = _printed(capfdbinary, value)
    assert json.loads(data.decode("utf-8")) == value
    assert "日本 é 🦀".encode() in data


def test_nothing_in_it_can_steer_a_terminal(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    text = "".join(map(chr, range(0xA0))) + "\u202e\u2066\u061c"
    shown = _printed(capfdbinary, text).decode("utf-8").rstrip("\n")
    assert shown.isprintable()


def test_a_lone_surrogate_is_escaped(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    data = _printed(capfdbinary, {"k": "a\ud800b\udcff"})
    assert b"\\ud800" in data
    assert json.loads(data) == {"k": "a\ud800b\udcff"}


def test_numbers_that_json_lacks_become_null(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert json.loads(_printed(capfdbinary, [float("nan"), float("inf"), 1.5])) == [None, None, 1.5]


def test_a_compact_document_is_one_line(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    data = _printed(capfdbinary, {"a": "x\ny\u2028z", "b": [1, 2]}, compact=True)
    assert len(data.decode("utf-8").splitlines()) == 1


@pytest.mark.parametrize(("text", "wide"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("🦀", 2), ("", 0)])
def test_cells(text: str, wide: int) -> None:
    assert cells(text) == wide
    assert cells(padded(text, 8)) == 8
    assert padded(text, 8, right=True).endswith(text)


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))), st.integers(2, 40))
def test_a_cut_text_never_takes_more_than_its_room(text: str, most: int) -> None:
    shown = cut(text, most)
    assert cells(shown) <= most
    assert shown == text or (shown.endswith("…") and text.startswith(shown[:-1]))
