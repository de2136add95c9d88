"""The real `zeroclaw`, to which other commands are forwarded, and the spelling of our own commands in messages."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping

from zeroclaw_tui.memory.text import shell_word

PASS_THROUGH_MARKER = "ZEROCLAW_TUI_PASSED_THROUGH"
"""The variable that counts how often a command was forwarded in a row, to end loops."""

_OUR_NAME = b"zeroclaw_tui"
_VERSION = r"\d+\.\d+(?:\.\d+)?"
_SCRIPT_HEAD = 4096
_OUR_COMMAND = r"(?<=`)([A-Z_]+=\S* )?(zeroclaw(?= (?:memory|onboard|--real)\b)|zeroclaw-tui(?=[` ]))"
"""One of our commands in backquotes, possibly after the assignment of a variable."""


def real_zeroclaw(environ: Mapping[str, str] | None = None) -> str | None:
    """Find the first `zeroclaw` on PATH that is not this program's own script, or None.

    Own scripts are the running one, the one next to this Python, and every script that contains this package's name.
    """
    ours = {os.path.realpath(_own_script("zeroclaw"))}
    if os.path.basename(sys.argv[0]) == "zeroclaw":
        ours.add(os.path.realpath(sys.argv[0]))
    for candidate in _on_path("zeroclaw", os.environ if environ is None else environ):
        if os.path.realpath(candidate) not in ours and not _names_us(candidate):
            return os.path.abspath(candidate)
    return None


def zeroclaw_version(binary: str, seconds: float = 2.0) -> str | None:
    """Get the version from `zeroclaw --version`, such as "0.7.5"; None if it prints none in time. Blocks."""
    import subprocess

    command = [binary, "--version"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(_VERSION, done.stdout.decode("utf-8", "replace"))
    return None if found is None else found.group()


def _own_script(name: str) -> str:
    return os.path.join(os.path.dirname(sys.executable), name)


def _on_path(name: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The paths of the programs with this name in the order of PATH."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        candidate = os.path.join(folder or ".", name)
        if _can_run(candidate):
            yield candidate


def _can_run(candidate: str) -> bool:
    return os.path.isfile(candidate) and os.access(candidate, os.X_OK)


def _names_us(candidate: str) -> bool:
    """Whether a program is a console script of this package, possibly in another environment; False if unreadable."""
    try:
        with open(candidate, "rb") as file:
            head = file.read(_SCRIPT_HEAD)
    except OSError:
        return False
    return head.startswith(b"#!") and _OUR_NAME in head


def our_command(name: str) -> str:
    """The command for our script "zeroclaw" or "zeroclaw-tui" in the shell that started this program.

    It is the bare name if PATH leads to this package, else the path of the script.
    """
    script = _own_script(name)
    found = next(_on_path(name, os.environ), None)
    is_ours = found is not None and (os.path.realpath(found) == os.path.realpath(script) or _names_us(found))
    return name if is_ours or not _can_run(script) else shell_word(script)


def runnable(text: str) -> str:
    """Replace our commands in backquotes in a text by commands that can be run as printed."""
    return re.sub(_OUR_COMMAND, lambda found: (found[1] or "") + our_command(found[2]), text)


def runnable_command(command: str) -> str:
    """Replace one of our commands by one that can be run as printed."""
    return runnable(f"`{command}`")[1:-1]
