"""Details of what listing, getting and counting print: ends of pages, cut contents, colours, hostile text."""

from __future__ import annotations

import io
import sys

import pytest

from zeroclaw_tui.cli.entries import entry_lines, list_lines
from zeroclaw_tui.cli.output import write_lines
from zeroclaw_tui.memory.entry import MemoryEntry


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


def test_nothing_there_and_nothing_at_an_offset(capsys: pytest.CaptureFixture[str]) -> None:
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
def test_only_the_first_line_is_shown_cut_over_80_bytes_to_77_characters(
    capsys: pytest.CaptureFixture[str], content: str, shown: str
) -> None:
    assert _listed(capsys, _entry("k", content), total=1).splitlines()[3] == "    " + shown


def test_bold_only_on_a_terminal_that_may_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
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
