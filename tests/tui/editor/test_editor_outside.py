"""The person's own editor: what it is given, what comes back, and that nothing typed is ever lost."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from editor_samples import ScreenApp, editor_program
from textual.app import App, SuspendNotSupported

from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.tui import external
from zeroclaw_tui.tui.external import Edited, chosen_program, edit_text


@pytest.fixture(autouse=True)
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where private folders are made, empty at first."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(external.tempfile, "tempdir", str(folder))
    return folder


def is_empty(folder: Path) -> bool:
    return list(folder.iterdir()) == []


async def edited(text: str, editor: str, app: App[Any] | None = None) -> Edited:
    app = app or ScreenApp()
    async with app.run_test():
        return edit_text(app, text, {"EDITOR": editor})


def test_visual_wins_over_editor_and_both_may_have_arguments() -> None:
    assert chosen_program({"VISUAL": "code --wait 'a b'", "EDITOR": "vi"}) == ("code", "--wait", "a b")
    assert chosen_program({"VISUAL": " ", "EDITOR": "vi"}) == ("vi",)


def test_without_a_setting_an_editor_on_the_path_is_used(tmp_path: Path) -> None:
    program = tmp_path / "nano"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert chosen_program({"PATH": str(tmp_path)}) == ("nano",)


@pytest.mark.parametrize(
    ("environment", "kind", "words"),
    [({"PATH": "/nowhere"}, Refused, "EDITOR=nano"), ({"EDITOR": "vi 'x"}, UsageError, "EDITOR")],
    ids=["none", "quotes"],
)
def test_an_editor_that_cannot_be_named_says_what_to_set(
    environment: dict[str, str], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        chosen_program(environment)


async def test_the_file_is_private_and_holds_the_very_bytes(tmp_path: Path, temporary_files: Path) -> None:
    """0600 in a folder of 0700, named .md; afterwards nothing of it is left."""
    message = tmp_path / "message"
    modes = "f'{path.stat().st_mode:o} {path.parent.stat().st_mode:o} {path} {before!r}'"
    script = f"Path({str(message)!r}).write_text({modes})"
    app = ScreenApp()
    result = await edited("a\r\nb\x00\udcff\x1b", editor_program(tmp_path, script), app)
    assert message.read_text().split(" ", 3)[:2] == ["100600", "40700"]
    assert message.read_text().endswith(".md " + repr(b"a\r\nb\x00\xff\x1b"))
    assert (result.text, app.suspended) == (None, 1)
    assert result.sentence.startswith("Nothing was changed in the editor.")
    assert is_empty(temporary_files)


async def test_what_was_saved_comes_back_and_is_overwritten_when_used(tmp_path: Path, temporary_files: Path) -> None:
    """The file stays until the text is in use; a hard link shows that it was overwritten then."""
    result = await edited("old", editor_program(tmp_path, "path.write_bytes('new é\\r\\n'.encode() + b'x')"))
    assert result.text == "new é\r\nx"
    assert result.file is not None
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
async def test_only_the_line_feed_that_an_editor_adds_is_left_out(
    tmp_path: Path, before: str, saved: bytes, text: str | None
) -> None:
    """A content whose last line did not end stays that way, and bytes that were no UTF-8 may stay."""
    assert (await edited(before, editor_program(tmp_path, f"path.write_bytes({saved!r})"))).text == text


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
async def test_a_failure_is_a_sentence_and_what_was_typed_stays_in_its_file(
    tmp_path: Path, temporary_files: Path, script: str, words: str, left: bytes | None
) -> None:
    """The sentence names the file; where nothing was typed there is none."""
    result = await edited("a", script if script.startswith("/") else editor_program(tmp_path, script))
    assert (result.text, result.is_failure) == (None, True)
    assert words in result.sentence
    if left is None:
        assert is_empty(temporary_files)
    else:
        assert result.file is not None
        assert str(result.file) in result.sentence
        assert result.file.read_bytes() == left


async def test_ctrl_c_in_the_editor_leaves_this_program_alone(tmp_path: Path) -> None:
    """The signal reaches both; the editor may end by it, this program goes on and says so."""
    before = signal.getsignal(signal.SIGINT)
    script = "os.kill(os.getppid(), 2); path.write_text('typed')"
    result = await edited("a", editor_program(tmp_path, script))
    assert result.text == "typed"
    ended = await edited(
        "a", editor_program(tmp_path, "import signal; signal.default_int_handler; os.kill(os.getpid(), 2)")
    )
    assert ended.is_failure
    assert signal.getsignal(signal.SIGINT) is before


async def test_a_terminal_that_cannot_be_suspended_is_reported(temporary_files: Path) -> None:
    class Web(ScreenApp):
        @contextmanager
        def suspend(self) -> Iterator[None]:
            raise SuspendNotSupported
            yield

    result = await edited("a", sys.executable, Web())
    assert result.sentence == "An editor cannot run in this terminal."
    assert is_empty(temporary_files)


async def test_a_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(external.tempfile, "mkdtemp", full)
    result = await edited("a", "vi")
    assert result.sentence == "The temporary file for the editor could not be created: No space left on device."
