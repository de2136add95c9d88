"""The wizard from its first word to its last, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.onboard.asker import Asker


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line said."""

    config_dir: Path | None = None
    workspace: Path | None = None
    memory: str | None = None
    assignments: tuple[str, ...] = ()
    answers_file: Path | None = None
    tests: bool = True
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit code, and the config dir when the person wants the inspector now."""

    exit_code: int
    inspect: Path | None = None


def run_wizard(asker: Asker, request: Request, environ: Mapping[str, str]) -> Ended:
    """Candidates (two: asks), situation, what was found, kept answers (offered), the walk, writing, the words after.

    Ctrl-C anywhere says that nothing was changed and that the answers are kept, and raises KeyboardInterrupt on.
    """
    raise NotImplementedError
