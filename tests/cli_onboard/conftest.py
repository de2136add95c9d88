"""`zeroclaw onboard` as a process with no terminal, on a config dir of its own."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from cli_onboard_samples import CONFIG
from support.commands import Answer, Command, run_command
from support.warm_start import SCRIPTS

from zeroclaw_tui.cli import main


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
def run(tmp_path: Path) -> Command:
    """Run `zeroclaw` with no terminal."""

    def run(*arguments: str, **more: Any) -> Answer:
        answer = run_command(*arguments, **more)
        for text in (answer.out, answer.err):
            assert "Traceback" not in text
            assert "Internal error" not in text
            assert "sekret" not in text
        return answer

    return run


@pytest.fixture
def onboard(run: Command, config_dir: Path) -> Command:
    """Run `zeroclaw onboard --config-dir DIR ...`; no secret ("…sekret…") may come out of it."""
    return lambda *arguments, **more: run("onboard", "--config-dir", str(config_dir), *arguments, **more)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `zeroclaw` in this process: its exit code, and what it wrote to stdout and stderr."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setenv("PATH", f"{SCRIPTS}:/usr/bin:/bin")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["zeroclaw", *arguments])
        code = main.zeroclaw()
        out, err = capsys.readouterr()
        assert "sekret" not in out + err
        return code, out, err

    return run
