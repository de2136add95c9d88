"""`zeroclaw onboard` as a process with no terminal, on a config dir of its own."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli_onboard_samples import CONFIG
from support.warm_start import run_script

from zeroclaw_tui.cli import main

SCRIPTS = Path(sys.executable).parent
SYSTEM = f"{SCRIPTS}:/usr/bin:/bin"


@dataclass(frozen=True)
class Answer:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """What stdout has, but for the document of an error with --json."""
        return "" if self.code and self.out.startswith('{\n  "error": {') else self.out

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Onboard = Callable[..., Answer]


@pytest.fixture
def config_dir(tmp_path: Path) -> Path:
    """A config dir that is not there yet."""
    return tmp_path / "zc"


@pytest.fixture
def config_file(config_dir: Path) -> Path:
    """A small config of ZeroClaw <= 0.7.5 with comments and a channel."""
    config_dir.mkdir()
    file = config_dir / "config.toml"
    file.write_text(CONFIG)
    return file


@pytest.fixture
def run(tmp_path: Path) -> Onboard:
    """Run `zeroclaw` with no terminal; PATH has only the system's folders and what the test adds."""

    def run(*arguments: str, stdin: bytes = b"", **variables: str) -> Answer:
        environment = {**os.environ, "PATH": SYSTEM, **variables}
        done = run_script("zeroclaw", arguments, stdin=stdin, environment=environment)
        answer = Answer(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
        for text in (answer.out, answer.err):
            assert "Traceback" not in text
            assert "Internal error" not in text
            assert "sekret" not in text
        return answer

    return run


@pytest.fixture
def onboard(run: Onboard, config_dir: Path) -> Onboard:
    """Run `zeroclaw onboard --config-dir DIR ...`; no secret ("…sekret…") may come out of it."""
    return lambda *arguments, **more: run("onboard", "--config-dir", str(config_dir), *arguments, **more)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `zeroclaw` in this process: its exit code, and what it wrote to stdout and stderr."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setenv("PATH", SYSTEM)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["zeroclaw", *arguments])
        code = main.zeroclaw()
        out, err = capsys.readouterr()
        assert "sekret" not in out + err
        return code, out, err

    return run
