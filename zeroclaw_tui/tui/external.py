"""What leaves the terminal program: the clipboard."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from typing import Any

from textual.app import App

from zeroclaw_tui.memory.entry import MemoryEntry

_SECONDS = 2.0


async def copy_text(app: App[Any], text: str) -> str:
    """Copy a text by the terminal's own means, and by the desktop's program where there is one; says which.

    OSC 52 has no answer and some terminals ignore it, so a local desktop is told as well.
    """
    whole = text.encode("utf-8", "replace").decode("utf-8")
    app.copy_to_clipboard(whole)
    program = clipboard_program()
    if program is not None and await asyncio.to_thread(_hand_over, program, whole):
        return "Copied to the clipboard."
    return "Sent to the terminal's clipboard."


def entry_json(entry: MemoryEntry) -> str:
    """A memory as the commands print it with `--json`."""
    return json.dumps(entry.as_json(), indent=2, ensure_ascii=False)


def clipboard_program() -> list[str] | None:
    """The desktop's copy command, or None where the desktop is elsewhere or has none."""
    if os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        return None
    candidates = [["pbcopy"]] if sys.platform == "darwin" else []
    if os.environ.get("WAYLAND_DISPLAY"):
        candidates.append(["wl-copy"])
    if os.environ.get("DISPLAY"):
        candidates.append(["xclip", "-selection", "clipboard"])
    return next((command for command in candidates if shutil.which(command[0])), None)


def _hand_over(command: list[str], text: str) -> bool:
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
