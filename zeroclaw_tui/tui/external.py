"""Interaction with other programs: the clipboard, and editing a text in the user's editor."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from zeroclaw_tui.memory.errors import Refused, UsageError

_FALLBACKS = ("nano", "vi", "vim", "emacs")
NOTHING_CHANGED = "Nothing was changed in the editor. An editor with a window needs an option such as --wait."


async def copy_text(app: App[Any], text: str) -> str:
    """Copy a text with the terminal's escape sequence, and with the desktop's program if there is one; says which.

    OSC 52 has no response and some terminals ignore it, so a local desktop also gets the text.
    """
    whole = text.encode("utf-8", "replace").decode("utf-8")
    app.copy_to_clipboard(whole)
    program = clipboard_program()
    if program is not None and await asyncio.to_thread(_copy_with, program, whole):
        return "Copied to the clipboard."
    return "Sent to the terminal's clipboard."


def clipboard_program() -> list[str] | None:
    """The desktop's copy command, or None if the session is remote or there is none."""
    if os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        return None
    candidates = [["pbcopy"]] if sys.platform == "darwin" else []
    if os.environ.get("WAYLAND_DISPLAY"):
        candidates.append(["wl-copy"])
    if os.environ.get("DISPLAY"):
        candidates.append(["xclip", "-selection", "clipboard"])
    return next((command for command in candidates if shutil.which(command[0])), None)


def _copy_with(command: list[str], text: str) -> bool:
    null = subprocess.DEVNULL
    try:
        process = subprocess.run(command, input=text.encode(), stdout=null, stderr=null, timeout=2.0, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return process.returncode == 0


@dataclass(frozen=True, slots=True)
class Edited:
    """The new text from an editor, and the private file that has it until `discard` is called."""

    text: str
    file: Path

    def discard(self) -> None:
        """Overwrite and remove the file, because the text was saved elsewhere or discarded."""
        _remove_folder(self.file.parent)


def chosen_program(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The program in VISUAL, else in EDITOR, else the first fallback on PATH. Raises Refused or UsageError."""
    for name in ("VISUAL", "EDITOR"):
        if value := environment.get(name, "").strip():
            try:
                return tuple(shlex.split(value))
            except ValueError:
                hint = f"Fix {name} and try again."
                raise UsageError(f"{name} has unmatched quotes: {value!r}.", hint=hint) from None
    for name in _FALLBACKS:
        if shutil.which(name, path=environment.get("PATH")):
            return (name,)
    raise Refused("No editor found: neither VISUAL nor EDITOR is set.", hint="Set one, for example EDITOR=nano.")


def edit_text(app: App[Any], text: str, environment: Mapping[str, str] | None = None) -> Edited | None:
    """Edit a text in the user's editor, which gets the terminal; returns None if nothing was changed.

    The event loop waits, because nothing may paint over the editor. Surrogate escapes are written as the original
    bytes. A newline that the editor adds at the end of a text without one is removed. Raises Refused or UsageError with
    one sentence, which names the file if that has the typed text.
    """
    program = chosen_program(os.environ if environment is None else environment)
    try:
        original = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Refused("This text has characters that cannot be written to a file.") from None
    try:
        file = _private_file(original)
    except OSError as error:
        raise Refused(f"The temporary file for the editor could not be created: {error.strerror}.") from error
    failure = _run(app, program, file)
    app.refresh(layout=True)
    try:
        saved = file.read_bytes()
    except FileNotFoundError:
        saved, failure = original, failure or "The editor removed the file, so nothing was changed."
    except OSError as error:
        raise _refusal(f"What the editor saved cannot be read: {error.strerror}.", file) from error
    if saved in (original, original + b"\n") or not saved.strip():
        _remove_folder(file.parent)
        if saved.strip() != original.strip():
            failure = failure or "What the editor saved is empty, so nothing was changed."
        if failure:
            raise Refused(failure)
        return None
    if failure:
        raise _refusal(failure, file)
    return Edited(_decode(saved, text, file), file)


def _decode(saved: bytes, original: str, file: Path) -> str:
    """Decode the saved bytes. Raises Refused."""
    # Bytes that were already invalid UTF-8 may stay.
    has_escaped_bytes = any("\udc80" <= character <= "\udcff" for character in set(original))
    try:
        typed = saved.decode("utf-8", "surrogateescape" if has_escaped_bytes else "strict")
    except UnicodeDecodeError as error:
        raise _refusal(f"What the editor saved is not UTF-8 (byte {error.start + 1}).", file) from error
    if original.endswith("\n") or not typed.endswith("\n"):
        return typed
    return typed.removesuffix("\r\n") if typed.endswith("\r\n") else typed.removesuffix("\n")


def _refusal(sentence: str, file: Path) -> Refused:
    return Refused(f"{sentence} Your text is saved in {file}.")


def _private_file(content: bytes) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="zeroclaw-tui-"))
    try:
        file = folder / "memory.md"
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(content)
    except OSError:
        _remove_folder(folder)
        raise
    return file


def _run(app: App[Any], program: tuple[str, ...], file: Path) -> str:
    """Run the editor; returns the reason of a failure, or ""."""
    name, failure = Path(program[0]).name, ""
    try:
        with app.suspend(), _interrupts_left_to_editor():
            # An exception out of this block would leave the terminal suspended.
            try:
                code = subprocess.run([*program, str(file)], check=False).returncode
            except FileNotFoundError:
                failure = f"The editor {program[0]!r} was not found."
            except (OSError, ValueError) as error:
                failure = f"The editor {program[0]!r} did not start: {getattr(error, 'strerror', None) or error}."
            else:
                if code:
                    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
                    failure = f"{name} {how}."
    except SuspendNotSupported:
        return "An editor cannot run in this terminal."
    return failure


@contextmanager
def _interrupts_left_to_editor() -> Iterator[None]:
    """Ignore ctrl+c in this program while the editor runs, because the terminal sends it to both.

    This uses an empty handler, because a child process would inherit an ignored signal.
    """
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGQUIT") if hasattr(signal, name)]
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _remove_folder(folder: Path) -> None:
    """Remove the private folder after overwriting its files, including the editor's own copies."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            try:
                with path.open("r+b") as out:
                    out.write(bytes(path.stat().st_size))
                    out.flush()
                    os.fsync(out.fileno())
            except OSError:
                # A file that cannot be overwritten is still removed.
                continue
    shutil.rmtree(folder, ignore_errors=True)
