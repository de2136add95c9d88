"""The user's own editor, also in a terminal; and which texts can be edited on the screen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.inspector import RoomApp
from support.memories import Refused, UsageError
from support.screens import screen_words
from support.terminal import Terminal
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.events import Paste
from tui.samples import editor_program

from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.tui import external
from zeroclaw_tui.tui.external import Edited, chosen_program, edit_text
from zeroclaw_tui.tui.widgets.lines import LineInput, why_not_here
from zeroclaw_tui.tui.widgets.text_fields import ContentArea

pytestmark = pytest.mark.usefixtures("temporary_files")


def named_files(sentence: str, folder: Path) -> list[Path]:
    """Return the editor's files that are named in a sentence."""
    return [file for file in folder.rglob("memory.md") if str(file) in sentence]


def is_empty(folder: Path) -> bool:
    return list(folder.iterdir()) == []


async def edited(text: str, editor: str, app: App[Any] | None = None) -> Edited | None:
    app = app or RoomApp()
    async with app.run_test():
        return edit_text(app, text, {"EDITOR": editor})


async def refused(text: str, editor: str, app: App[Any] | None = None) -> str:
    """Return the message of a failed edit."""
    with pytest.raises(Refused) as failure:
        await edited(text, editor, app)
    return str(failure.value)


def test_the_editor_is_taken_from_variables_or_the_path(tmp_path: Path) -> None:
    """VISUAL wins over EDITOR, and both may have arguments."""
    assert chosen_program({"VISUAL": "code --wait 'a b'", "EDITOR": "vi"}) == ("code", "--wait", "a b")
    assert chosen_program({"VISUAL": " ", "EDITOR": "vi"}) == ("vi",)
    program = tmp_path / "nano"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert chosen_program({"PATH": str(tmp_path)}) == ("nano",)
    with pytest.raises(Refused, match="EDITOR=nano"):
        chosen_program({"PATH": "/nowhere"})
    with pytest.raises(UsageError, match="EDITOR"):
        chosen_program({"EDITOR": "vi 'x"})


async def test_the_editors_file_is_private_and_has_the_exact_bytes(tmp_path: Path, temporary_files: Path) -> None:
    """The file is 0600 in a folder of 0700 and named .md; afterwards it is removed.

    The saved text is returned and stays in the file until it is used; then the file is overwritten.
    """
    message = tmp_path / "message"
    modes = "f'{path.stat().st_mode:o} {path.parent.stat().st_mode:o} {path} {before!r}'"
    script = f"Path({str(message)!r}).write_text({modes})"
    app = RoomApp()
    result = await edited("a\r\nb\x00\udcff\x1b", editor_program(tmp_path, script), app)
    assert message.read_text().split(" ", 3)[:2] == ["100600", "40700"]
    assert message.read_text().endswith(".md " + repr(b"a\r\nb\x00\xff\x1b"))
    assert (result, app.suspended) == (None, 1)
    assert is_empty(temporary_files)
    result = await edited("old", editor_program(tmp_path, "path.write_bytes('new é\\r\\n'.encode() + b'x')"))
    assert result is not None
    assert result.text == "new é\r\nx"
    # A hard link shows the bytes of a removed file.
    link = tmp_path / "link"
    link.hardlink_to(result.file)
    result.discard()
    assert is_empty(temporary_files)
    assert set(link.read_bytes()) == {0}


@pytest.mark.parametrize(
    ("before", "saved", "text"),
    [
        ("a", b"a\n", None),
        ("a", b"b\n", "b"),
        ("a\n", b"b\n", "b\n"),
        ("a", b"b\n\n", "b\n"),
        ("a", b"b\r\n", "b"),
        ("a\udcff", b"a\xffb", "a\udcffb"),
    ],
)
async def test_only_the_final_newline_added_by_an_editor_is_removed(
    tmp_path: Path, before: str, saved: bytes, text: str | None
) -> None:
    """Content without a final newline keeps that, and invalid UTF-8 bytes may stay."""
    result = await edited(before, editor_program(tmp_path, f"path.write_bytes({saved!r})"))
    assert (None if result is None else result.text) == text


@pytest.mark.parametrize(
    ("script", "words", "left"),
    [
        ("path.write_text('typed'); sys.exit(3)", "exit code 3", b"typed"),
        ("path.write_text('typed'); os.kill(os.getpid(), 9)", "signal 9", b"typed"),
        ("path.write_bytes(b'typed \\xff')", "not UTF-8 (byte 7)", b"typed \xff"),
        ("sys.exit(1)", "exit code 1", None),
        ("path.unlink()", "removed the file", None),
        ("path.write_text(' \\n')", "is empty", None),
        ("/nowhere/editor -x", "was not found", None),
        ("/etc/hosts", "did not start", None),
    ],
)
async def test_a_failed_editor_is_reported_and_its_file_keeps_the_typed_text(
    tmp_path: Path, temporary_files: Path, script: str, words: str, left: bytes | None
) -> None:
    """The message names the file; without typed text there is no file."""
    sentence = await refused("a", script if script.startswith("/") else editor_program(tmp_path, script))
    assert words in sentence
    if left is None:
        assert is_empty(temporary_files)
    else:
        assert [file.read_bytes() for file in named_files(sentence, temporary_files)] == [left]


async def test_a_terminal_that_cannot_be_suspended_and_a_full_disk_are_reported(
    temporary_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Web(RoomApp):
        @contextmanager
        def suspend(self) -> Iterator[None]:
            raise SuspendNotSupported
            yield

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    assert await refused("a", sys.executable, Web()) == "An editor cannot run in this terminal."
    assert is_empty(temporary_files)
    monkeypatch.setattr(external.tempfile, "mkdtemp", full)
    sentence = "The temporary file for the editor could not be created: No space left on device."
    assert await refused("a", "vi") == sentence


SCRIPT = str(Path(__file__).with_name("editor_in_terminal.py"))
C1 = ("\x9b2J".encode(), b"\x9b2J", "\x9d0;".encode(), b"\x00")
STEERING = (b"\x1b]0;EVIL", b"\x1b]52;c;RVZJ", b"\x1b[31mEVIL", *C1)
HIDING = ("\u202e".encode(), "\u2066".encode(), b"\x08")


def test_no_control_character_of_a_memory_reaches_the_terminal(tmp_path: Path) -> None:
    """Moving through every field, typing, a conflict, both versions: no raw control character is printed."""
    with Terminal([sys.executable, SCRIPT, str(tmp_path)], columns=80, lines=24) as screen:
        screen.wait_for("category", "EVIL", "ctrl+s save", "U+")
        screen.press("tab", "0.9", "\x13")
        screen.wait_for("changed while you edited it", "Keep theirs")
        screen.press("j", "tab", "j", "tab", "j", "escape")
        screen.wait_until_absent("Keep theirs")
        screen.press("escape")
        screen.wait_for("Discard your changes?")
        screen.press("y")
        assert screen.wait_exit() == 0
    assert b"EVIL" in screen.raw
    assert [sent for sent in (*STEERING, *HIDING) if sent in screen.raw] == []


def test_the_editor_gets_the_terminal_and_ctrl_c_ends_only_the_editor(tmp_path: Path) -> None:
    """The editor reads typed input; its failure is reported, and the text on the screen stays."""
    editor = editor_program(tmp_path, "path.write_text(input('Your turn: '))")
    with Terminal([sys.executable, SCRIPT, str(tmp_path)], env={**os.environ, "VISUAL": editor}) as screen:
        screen.wait_for("ctrl+s save")
        screen.press("\x05")
        screen.wait_for("Your turn:")
        screen.press("ctrl+c")
        screen.wait_for("was ended by signal 2", "EVIL")
        screen.press("\x05")
        screen.wait_for("Your turn:")
        screen.press("Written outside.", "enter")
        screen.wait_for("ctrl+s save", "Written outside.")
        screen.wait_until_absent("Your turn:")
        screen.press("escape")
        screen.wait_for("Discard your changes?")
        screen.press("y")
        assert screen.wait_exit() == 0


NASTY = "ab\n\r\t\x00\x1b\x07\x7f\x85\x9b\u2028\u2029\u202e\u2066\ufeff\udc80\udcff␛▣▤宽é👩‍👩‍👧"
TEXTS = st.one_of(st.text(alphabet=NASTY), st.text(), st.lists(st.sampled_from(["a", "", "\x1b"])).map("\r\n".join))


class Both(App[None]):
    def __init__(self, content: str = "", line: str = "") -> None:
        super().__init__()
        self._first = content, line

    def compose(self) -> ComposeResult:
        content, line = self._first
        self.area, self.line = ContentArea(content), LineInput(line)
        yield self.area
        yield self.line


@given(TEXTS)
def test_editable_text_is_shown_as_stored(content: str) -> None:
    """Opened and not changed it keeps every character; no control character reaches the terminal."""
    if why_not_here(content) is None:
        assert ContentArea(content).text == content
        assert not any(character in "\x00\x1b\x9b\x07\u202e\udc80" for character in content)


def test_hidden_characters_and_long_texts_cannot_be_edited_on_the_screen() -> None:
    for content in ("a\x1b[2J", "a\rb", "a\r\nb\nc", "a\u200b", "\u202eb", "a\udcff", "x" * 200_001):
        assert why_not_here(content) is not None


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["line feeds", "both"])
async def test_typing_keeps_line_endings_and_unchanged_lines(line_end: str) -> None:
    """A new line has the line ending of the others."""
    for value in ("plain", " two  blanks ", "a\x1b[2J", "a\nb\tc", "\u202eb"):
        app = Both(f"one{line_end}two{line_end}", value)
        async with app.run_test() as pilot:
            app.area.focus()
            await pilot.press("end", "enter", "x")
            assert app.line.text == value
            assert display_text(app.line.value) == app.line.value
        assert app.area.text == f"one{line_end}x{line_end}two{line_end}"


async def test_pasting_removes_control_and_hidden_characters() -> None:
    """One sentence says so; the rest of the text is pasted, in the content and in a field.

    Characters needed by scripts and emoji can be typed: a joiner is removed only if it joins nothing.
    """
    app = Both("x", "y")
    async with app.run_test(notifications=True) as pilot:
        app.area.focus()
        await pilot.pause()
        app.post_message(Paste("a\r\n\x1b]0;t\x07␛\u00a0"))
        await pilot.pause()
        assert "Removed control and hidden characters." in screen_words(app)
        app.line.focus()
        await pilot.press("end")
        app.post_message(Paste("\x1b[2J"))
        await pilot.pause()
        app.copy_to_clipboard("\u202eb\nc")
        await pilot.press("end", "ctrl+v")
        assert (app.area.text, app.line.text) == ("a\n]0;t␛\u00a0x", "y[2Jb c")
        app.line.value = ""
        for typed in ("می", "\u200c", "خواهم", "\u200d", "\u200d", "a", "\u200c", "👩‍🚀"):
            app.post_message(Paste(typed))
            await pilot.pause()
        assert app.line.text == "می\u200cخواهم\u200da👩‍🚀"
    assert why_not_here("👩‍🚀 می‌خواهم ❤️ x") is None
