"""Output: JSON is valid UTF-8 for any memory; lines for people are measured and cut in terminal cells."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from support.memories import MemoryEntry

from zeroclaw_tui.cli.entries import entry_lines, list_lines
from zeroclaw_tui.cli.output import name_store, print_document, runnable, write_lines
from zeroclaw_tui.memory.hidden_text import hidden_runs
from zeroclaw_tui.memory.text import cells, cut


def _printed(capfdbinary: pytest.CaptureFixture[bytes], value: object, *, compact: bool = False) -> bytes:
    print_document(value, compact=compact)
    return capfdbinary.readouterr().out


def test_json_has_text_unchanged(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    value = {"a": "日本 é 🦀", "n": None, "b": [1, 0.5, True], "z": "\x00\x1b[31m\x9b\u202e\u2028\x7f\r\n"}
    data = _printed(capfdbinary, value)
    assert json.loads(data.decode("utf-8")) == value
    assert "日本 é 🦀".encode() in data


def test_json_contains_no_terminal_control_characters(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    text = "".join(map(chr, range(0xA0))) + "\u202e\u2066\u061c"
    shown = _printed(capfdbinary, text).decode("utf-8").rstrip("\n")
    assert shown.isprintable()


HIDING = st.sampled_from(
    "\u200b\u2060\u2063\u202e\u2066\u061c\u00ad\u3164\ufeff\u00a0\u2003\u2028\U000e0041\U000e0020\U000e01ef"
)


@given(st.text(st.one_of(st.characters(exclude_categories=("Cs",)), HIDING)))
def test_json_is_exact_and_escapes_invisible_characters(text: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(stream):
        print_document({"content": text})
    shown = stream.buffer.getvalue().decode("utf-8")
    assert json.loads(shown) == {"content": text}
    assert list(hidden_runs(shown)) == []


def test_a_lone_surrogate_is_escaped(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    data = _printed(capfdbinary, {"k": "a\ud800b\udcff"})
    assert b"\\ud800" in data
    assert json.loads(data) == {"k": "a\ud800b\udcff"}


def test_numbers_that_json_lacks_become_null(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert json.loads(_printed(capfdbinary, [float("nan"), float("inf"), 1.5])) == [None, None, 1.5]


def test_a_compact_document_is_one_line(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    data = _printed(capfdbinary, {"a": "x\ny\u2028z", "b": [1, 2]}, compact=True)
    assert len(data.decode("utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "abc", "日本", "e\u0301", "🦀", "", "👨\u200d👩\u200d👧", "👍🏽", "❤\ufe0f", "❤", "🇫🇷", "1\ufe0f\u20e3",
        "🏳\ufe0f\u200d🌈", "👩🏽\u200d🚀 up", "ก็", "각",
    ],
)  # fmt: skip
def test_widths_in_cells_equal_those_of_the_inspector(text: str) -> None:
    assert cells(text) == cell_len(text)


def test_an_emoji_is_never_split() -> None:
    family = "👨\u200d👩\u200d👧"
    assert cut(f"a{family}bc", 4) == f"a{family}…"
    assert cut(f"a{family}bc", 3) == "a…"


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))), st.integers(2, 40))
def test_a_cut_text_never_exceeds_its_width(text: str, most: int) -> None:
    shown = cut(text, most)
    assert cells(shown) <= most
    assert shown == text or (shown.endswith("…") and text.startswith(shown[:-1]))


def _entry(key: str, content: str, category: str = "core", session: str | None = None) -> MemoryEntry:
    return MemoryEntry(f"id-{key}", key, content, category, "2026-03-02T09:14:00.123456789+00:00", session_id=session)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _listed(capsys: pytest.CaptureFixture[str], *entries: MemoryEntry, total: int, offset: int = 0) -> str:
    write_lines(list_lines(entries, total=total, offset=offset, limit=2, indented_hint=False))
    return capsys.readouterr().out


def test_up_to_0_7_5_the_hint_is_indented(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(list_lines([_entry("a", "b")], total=9, offset=0, limit=1, indented_hint=True))
    assert capsys.readouterr().out.endswith("\n\n  Use --offset 1 to see the next page.\n")


def test_an_empty_list_and_an_offset_past_the_end_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert _listed(capsys, total=0) == "No memory entries found.\n"
    assert _listed(capsys, total=3, offset=7) == "No entries at offset 7 (total: 3).\n"


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 77 + "..."),
        ("日" * 26, "日" * 26),
        ("日" * 27, "日" * 27 + "..."),
        ("日" * 100, "日" * 77 + "..."),
        ("first\r\nsecond", "first"),
        ("\nsecond", ""),
        ("a\tb", "a␉b"),
        ("", ""),
    ],
)
def test_list_shows_the_first_line_cut_to_77_characters_if_over_80_bytes(
    capsys: pytest.CaptureFixture[str], content: str, shown: str
) -> None:
    assert _listed(capsys, _entry("k", content), total=1).splitlines()[3] == "    " + shown


def test_bold_is_used_only_on_a_terminal_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def shown() -> str:
        terminal = _Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        write_lines(entry_lines(_entry("lang", "Rust")))
        return terminal.getvalue()

    assert "Key:       \x1b[1mlang\x1b[0m\n" in shown()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in shown()


@pytest.mark.parametrize(
    ("options", "sentence", "named"),
    [
        ("", "Run `zeroclaw memory undo`.", "Run `zeroclaw memory undo`."),
        ("--location 'a b.db'", "`zeroclaw memory get KEY`", "`zeroclaw memory get KEY --location 'a b.db'`"),
        ("--location 'a b.db'", "`zeroclaw onboard`", "`zeroclaw onboard`"),
        ("--config-dir /c --backend x", "`zeroclaw onboard`", "`zeroclaw onboard --config-dir /c`"),
        ("--config-dir /c", "`zeroclaw memory undo --location b.db`", "`zeroclaw memory undo --location b.db`"),
        ("--config-dir /c", "`zeroclaw memory` or `zeroclaw memory help json`",
         "`zeroclaw memory` or `zeroclaw memory help json`"),
    ],
)  # fmt: skip
def test_a_named_command_opens_the_same_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: str, sentence: str, named: str
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    name_store(lambda: options)
    try:
        assert runnable(sentence) == named
    finally:
        name_store(str)
