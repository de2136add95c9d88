"""What turns recording on, in the keys of each version, and what is said where it is on or cannot be."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.traces import RecordingInstall

from zeroclaw_tui.curation.setting_change import save_change
from zeroclaw_tui.curation.turns import recording_change, recording_state
from zeroclaw_tui.memory.errors import Refused

NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("version", "config", "added"),
    [
        ("0.8.4", "schema_version = 3\n", ["log_llm_request_payload", "log_persistence_max_entries"]),
        ("0.8.1", "schema_version = 3\n", ["log_persistence_max_entries"]),
        ("0.8.4", '[observability]\nlog_persistence = "full"\n', ["log_llm_request_payload"]),
        (
            "0.8.4",
            '[observability]\nruntime_trace_mode = "none"\n',
            ["log_llm_request_payload", "runtime_trace_max_entries", "runtime_trace_mode"],
        ),
        (
            "0.8.4",
            '[observability]\nlog_persistence_max_entries = 50000\nlog_llm_request_payload = "full"\n',
            [],
        ),
    ],
)
def test_only_what_is_missing_is_written(tmp_path: Path, version: str, config: str, added: list[str]) -> None:
    install = RecordingInstall(tmp_path, config=f"# mine\n{config}")
    change = recording_change(install.config, version)
    told = [text for sign, text in change.lines if sign == "+" and "=" in text]
    assert sorted(text.partition(" =")[0] for text in told) == added
    can = recording_state(install.config, version).can_trace_block
    assert can is (version >= "0.8.2")
    assert not added or ("0.8.2 and later can" in change.warnings[0]) is not can
    assert change.is_empty is not bool(added)
    save_change(install.config, change, NOW)
    assert recording_change(install.config, version).is_empty
    written = (tmp_path / "config.toml").read_text()
    assert written.startswith("# mine\n")
    assert "auto_save" not in written


def test_a_version_whose_turns_cannot_be_read_is_not_made_to_record(tmp_path: Path) -> None:
    install = RecordingInstall(tmp_path, old=True, config="schema_version = 2\n")
    assert recording_state(install.config, "0.7.5").keys == ()
    with pytest.raises(Refused, match="they are read from"):
        recording_change(install.config, "0.7.5")


@pytest.mark.parametrize(
    ("keys", "traces", "traces_block"),
    [
        ("", True, False),
        ('log_llm_request_payload = "full"', True, True),
        ('log_llm_request_payload = "redacted"', True, False),
        ('log_llm_request_payload = "full"\nlog_persistence = "none"', False, False),
        ('log_llm_request_payload = "full"\nlog_persistence = "rotating"', True, True),
    ],
)
def test_what_is_recorded_by_a_config(tmp_path: Path, keys: str, traces: bool, traces_block: bool) -> None:
    install = RecordingInstall(tmp_path, config=f"schema_version = 3\n[observability]\n{keys}\n")
    state = recording_state(install.config, "0.8.4")
    assert (state.traces, state.traces_block) == (traces, traces_block)
    assert bool(state.keys) is not traces_block or "max_entries" in state.keys[0]
