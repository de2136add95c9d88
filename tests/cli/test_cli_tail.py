"""`memory tail` shows recorded turns with their predictions, and new turns while it runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import Command
from support.stand_in_agent import make_store, store
from support.traces import NOW, RecordingInstall, Sent, call_line

HOSTILE = "rust \x1b]0;owned\x07 \x9b31m [/bold] \u202egnp.exe"
BLOCK = "[Memory context]\n- lang: Prefers rust\n[/Memory context]\n\n"
OTHER = "[Memory context]\n- tz: Lives in Lisbon\n[/Memory context]\n\n"


@pytest.fixture
def recording(tmp_path: Path) -> RecordingInstall:
    install = RecordingInstall(
        tmp_path / "zc", config='schema_version = 3\n[memory]\nbackend = "sqlite"\n[agents.default]\n'
    )
    os.utime(install.folder / "config.toml", (0, 0))
    make_store(install)
    store(install.database, "lang", "Prefers rust")
    store(install.database, "tz", "Lives in Lisbon")
    return install


@pytest.fixture
def tail(run: Command, recording: RecordingInstall) -> Command:
    return lambda *arguments: run(
        "memory", "--config-dir", str(recording.folder), "--profile", "0.8.4", "tail", *arguments
    )


@pytest.fixture
def watching(recording: RecordingInstall, script: Callable[[str], str]) -> Iterator[subprocess.Popen[bytes]]:
    argv = [script("zeroclaw"), "memory", "--config-dir", str(recording.folder), "tail", "--follow", "--json"]
    argv += ["--profile", "0.8.4"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_tail_prints_one_line_for_each_recorded_turn_and_ends(recording: RecordingInstall, tail: Command) -> None:
    recording.record(Sent("rust", BLOCK, id="good"))
    recording.record(Sent("rust", OTHER, id="bad"))
    answer = tail("--json")
    lines = [json.loads(line) for line in answer.out.splitlines()]
    assert [(line["turn"], line["equal"]) for line in lines] == [("good", True), ("bad", False)]
    assert lines[0] == {
        "turn": "good", "at": "2026-12-01T12:00:00.000Z", "agent": "default", "session": None, "channel": None,
        "query": "rust", "sent": BLOCK, "predicted": BLOCK, "equal": True, "why_not_equal": None, "source": "trace",
    }  # fmt: skip
    assert answer.code == 0


def test_the_text_shows_the_differences(recording: RecordingInstall, tail: Command) -> None:
    recording.record(Sent("rust", OTHER))
    recording.record(Sent("rust", BLOCK, id="as predicted"))
    shown = tail().out
    assert "✓ Sent as predicted: 1 memory (lang)." in shown
    assert "✗ Not as predicted: 1 sent and not predicted, 1 predicted and not sent." in shown
    assert "+ - tz: Lives in Lisbon" in shown
    assert "- - lang: Prefers rust" in shown


def test_control_characters_of_a_turn_do_not_reach_the_terminal(recording: RecordingInstall, tail: Command) -> None:
    recording.record(Sent(HOSTILE, BLOCK, agent=HOSTILE, session=HOSTILE))
    answer = tail()
    assert not set("\x1b\x07\x9b\u202e") & set(answer.out + answer.err)
    assert "[/bold]" in answer.out


def test_turns_are_filtered_by_agent_and_time(recording: RecordingInstall, tail: Command) -> None:
    recording.record(Sent("old", at=NOW.replace(year=2025), id="old"))
    recording.record(Sent("rust", id="own"))
    recording.record(Sent("rust", agent="bob", id="other"))
    lines = tail("--json", "--since", "2026-11-30", "--agent", "default").out.splitlines()
    assert [json.loads(line)["turn"] for line in lines] == ["own"]


def test_without_a_trace_the_settings_that_enable_it_are_shown(recording: RecordingInstall, tail: Command) -> None:
    answer = tail("--json")
    assert answer.out == ""
    assert answer.code == 0
    assert 'log_llm_request_payload = "full"' in answer.err


def _line(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def test_a_new_turn_is_printed_at_once_and_ctrl_c_ends_it(
    recording: RecordingInstall, watching: subprocess.Popen[bytes]
) -> None:
    recording.record(Sent("rust", BLOCK, id="first"))
    assert _line(watching)["turn"] == "first"
    recording.write(call_line(replace(Sent("rust", BLOCK), id="second")))
    second = _line(watching)
    assert (second["turn"], second["equal"]) == ("second", True)
    watching.send_signal(signal.SIGINT)
    _, errors = watching.communicate(timeout=60)
    assert watching.returncode == 130
    assert b"Waiting for new turns. Press Ctrl-C to end." in errors
    assert b"Traceback" not in errors
