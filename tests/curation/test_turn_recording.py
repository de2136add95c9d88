"""Whether ZeroClaw records its turns by a config, and the change that turns recording on, in the keys of a version."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.traces import RecordingInstall

from zeroclaw_tui.curation.setting_change import save_change
from zeroclaw_tui.curation.turn_recording import missing_settings, recording_change, why_no_turns
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
            '[observability]\nlog_persistence = "none"\nlog_llm_request_payload = "redacted"\n',
            ["log_llm_request_payload", "log_persistence", "log_persistence_max_entries"],
        ),
        (
            "0.8.4",
            '[observability]\nruntime_trace_mode = "none"\n',
            ["log_llm_request_payload", "runtime_trace_max_entries", "runtime_trace_mode"],
        ),
        ("0.8.4", '[observability]\nlog_persistence = "rotating"\nlog_llm_request_payload = "full"\n', []),
        ("0.8.4", '[observability]\nlog_persistence_max_entries = 50000\nlog_llm_request_payload = "full"\n', []),
    ],
)
def test_only_what_is_missing_is_written(tmp_path: Path, version: str, config: str, added: list[str]) -> None:
    install = RecordingInstall(tmp_path, config=f"# mine\n{config}")
    change = recording_change(install.config, version)
    written = [text for sign, text in change.lines if sign == "+" and "=" in text]
    assert sorted(text.partition(" =")[0] for text in written) == added
    assert change.is_empty is not bool(added)
    if added:
        assert ("0.8.2 and later can" in change.warnings[0]) is (version == "0.8.1")
        assert all(name in why_no_turns(install.config, version) for name in added)
    save_change(install.config, change, NOW)
    assert recording_change(install.config, version).is_empty
    config = (tmp_path / "config.toml").read_text()
    assert config.startswith("# mine\n")
    assert "auto_save" not in config
    assert why_no_turns(install.config, version) == "Nothing is recorded yet: ZeroClaw has written no trace."


def test_a_version_whose_turns_cannot_be_read_is_not_made_to_record(tmp_path: Path) -> None:
    install = RecordingInstall(tmp_path, old=True, config="schema_version = 2\n")
    assert missing_settings(install.config, "0.7.5") == {}
    assert "Turns of ZeroClaw 0.7.5 cannot be read" in why_no_turns(install.config, "0.7.5")
    with pytest.raises(Refused, match="they are read from"):
        recording_change(install.config, "0.7.5")
