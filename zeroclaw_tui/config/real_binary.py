"""The real `zeroclaw`, for what this program hands on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PASS_THROUGH_MARKER = "ZEROCLAW_TUI_PASSED_THROUGH"
"""Set for the real binary: how often in a row a command was handed over, so that no loop lasts."""

_OUR_NAME = b"zeroclaw_tui"
_SCRIPT_HEAD = 4096


def real_zeroclaw(environ: Mapping[str, str] | None = None) -> Path | None:
    """The first `zeroclaw` on PATH that is not this program's own script, or None.

    Ours are the running script, the one beside this Python, and every script whose text names this package.
    """
    path = (os.environ if environ is None else environ).get("PATH", "")
    ours = set(_our_scripts())
    for folder in path.split(os.pathsep):
        candidate = Path(folder or ".", "zeroclaw")
        if _can_run(candidate) and os.path.realpath(candidate) not in ours and not _names_us(candidate):
            return candidate.absolute()
    return None


def _our_scripts() -> Iterator[str]:
    if os.path.basename(sys.argv[0]) == "zeroclaw":
        yield os.path.realpath(sys.argv[0])
    yield os.path.realpath(Path(sys.executable).with_name("zeroclaw"))


def _can_run(candidate: Path) -> bool:
    return os.path.isfile(candidate) and os.access(candidate, os.X_OK)


def _names_us(candidate: Path) -> bool:
    """True for a console script of this package in another environment. A program that cannot be read is not ours."""
    try:
        with candidate.open("rb") as file:
            head = file.read(_SCRIPT_HEAD)
    except OSError:
        return False
    return head.startswith(b"#!") and _OUR_NAME in head
