"""Changing hygiene's settings: which there are, what changes in the file, what it means, and saving it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.hygiene.rules import (
    Value,
    plan_rule_change,
    rules_for,
    settings_of,
    with_rules,
    with_rules_of_file,
)
from zeroclaw_tui.curation.setting_change import SettingChange, save_change
from zeroclaw_tui.curation.store_choice import configs_for
from zeroclaw_tui.memory.errors import BrokenConfig, Refused, UsageError

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
OLD = """\
# mine
default_temperature = 0.7
api_key = "sk-verysecretverysecret" # keep

[memory]
backend = "sqlite"
auto_save = true
conversation_retention_days = 30   # a month

[gateway]
port = 42617
"""
NEW = 'schema_version = 3\n\n[memory]\nbackend = "sqlite"\n'


def config_of(tmp_path: Path, text: str = OLD, environ: dict[str, str] | None = None) -> MemoryConfig:
    folder = tmp_path / "zc"
    (folder / ("data" if "schema_version" in text else "workspace") / "memory").mkdir(parents=True)
    (folder / "config.toml").write_bytes(text.encode())
    return configs_for(OpenOptions(config_dir=folder), {"HOME": str(tmp_path), **(environ or {})})[0]


def text_after(change: SettingChange) -> str:
    return change.after.decode()


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("0.1.7", ["hygiene_enabled", "archive_after_days", "purge_after_days", "conversation_retention_days"]),
        ("0.8.1", ["daily_retention_days", "core_retention_days", "audit_retention_days"]),
        ("0.8.4", ["core_max_rows", "core_max_bytes", "daily_max_rows", "evict_order"]),
    ],
)
def test_each_version_has_the_settings_that_it_reads(tmp_path: Path, version: str, names: list[str]) -> None:
    found = [setting.name for setting in settings_of(config_of(tmp_path), version)]
    assert {f"memory.{name}" for name in names} <= set(found)
    assert ("memory.core_max_rows" in found) == (version == "0.8.4")
    assert ("memory.daily_retention_days" in found) == (version != "0.1.7")


def test_settings_say_what_holds_now_and_whether_the_file_says_it(tmp_path: Path) -> None:
    found = {setting.name: setting for setting in settings_of(config_of(tmp_path), "0.8.4")}
    kept = found["memory.conversation_retention_days"]
    assert (kept.value, kept.is_in_file) == (30, True)
    assert (found["memory.archive_after_days"].value, found["memory.archive_after_days"].is_in_file) == (7, False)
    assert found["memory.evict_order"].choices == ("value", "oldest")
    assert found["memory.hygiene_enabled"].value is True


def test_days_by_category_are_there_where_the_file_has_them(tmp_path: Path) -> None:
    """They stand above the setting of the category, which then does nothing, and that is said."""
    config = config_of(tmp_path, OLD + "[memory.policy.retention_days_by_category]\nconversation = 3\n")
    name = "memory.policy.retention_days_by_category.conversation"
    assert {setting.name: setting.value for setting in settings_of(config, "0.7.5")}[name] == 3
    change = plan_rule_change(config, {"memory.conversation_retention_days": 9})
    assert any("does nothing while" in warning and name in warning for warning in change.warnings)
    assert "conversation = 2\n" in text_after(plan_rule_change(config, {name: 2}))


def test_only_the_asked_keys_change(tmp_path: Path) -> None:
    """Every other byte stays: comments, spaces, sections."""
    change = plan_rule_change(config_of(tmp_path), {"memory.conversation_retention_days": 7})
    assert text_after(change) == OLD.replace("days = 30   # a month", "days = 7   # a month")
    assert change.lines == (
        (" ", "[memory]"),
        ("-", "conversation_retention_days = 30   # a month"),
        ("+", "conversation_retention_days = 7   # a month"),
    )


def test_what_zeroclaw_refuses_elsewhere_in_the_file_is_no_reason_to_refuse_a_change(tmp_path: Path) -> None:
    text = NEW.replace("sqlite", "markdown") + "mmr_lambda = 3.0\n"
    change = plan_rule_change(config_of(tmp_path, text), {"memory.purge_after_days": 9})
    assert text_after(change) == text + "purge_after_days = 9\n"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"memory.conversation_retention_days": 7}, "deletes conversation rows after 7 days in place of 30."),
        ({"memory.conversation_retention_days": 1}, "deletes conversation rows after 1 day in place of 30."),
        ({"memory.core_retention_days": 90}, "deletes core rows after 90 days, which it did not do before."),
        ({"memory.archive_after_days": 1}, "archives daily notes and sessions after 1 day in place of 7."),
        ({"memory.core_max_rows": 100}, "deletes the least important core rows over 100 rows."),
        ({"memory.audit_retention_days": 3}, "deletes entries of its audit log after 3 days in place of 30."),
    ],
)
def test_what_goes_sooner_is_warned_of(tmp_path: Path, values: dict[str, Value], said: str) -> None:
    warnings = plan_rule_change(config_of(tmp_path), values).warnings
    assert warnings == (f"From now on ZeroClaw {said}",)


@pytest.mark.parametrize(
    "values",
    [
        {"memory.conversation_retention_days": 60},
        {"memory.conversation_retention_days": 0},
        {"memory.hygiene_enabled": False},
        {"memory.hygiene_enabled": False, "memory.conversation_retention_days": 1},
        {},
    ],
)
def test_what_is_kept_longer_is_no_reason_to_warn(tmp_path: Path, values: dict[str, Value]) -> None:
    assert plan_rule_change(config_of(tmp_path), values).warnings == ()


def test_switching_it_on_is_warned_of(tmp_path: Path) -> None:
    config = config_of(tmp_path, OLD.replace("auto_save = true", "auto_save = true\nhygiene_enabled = false"))
    (warning,) = plan_rule_change(config, {"memory.hygiene_enabled": True}).warnings
    assert "From now on ZeroClaw archives and deletes by these rules" in warning


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory.purge_after_days", -1),
        ("memory.purge_after_days", 2**32),
        ("memory.purge_after_days", True),
        ("memory.purge_after_days", "seven"),
        ("memory.hygiene_enabled", 1),
        ("memory.evict_order", "random"),
        ("memory.backend", "none"),
        ("gateway.port", 1),
    ],
)
def test_a_value_or_a_name_that_cannot_be_is_wrong_use(tmp_path: Path, name: str, value: Value) -> None:
    with pytest.raises(UsageError):
        plan_rule_change(config_of(tmp_path), {name: value})


def test_saving_keeps_the_old_file_and_counts_at_once(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    change = plan_rule_change(config, {"memory.conversation_retention_days": 7, "memory.core_max_rows": 50})
    save_change(config, change, NOW)
    assert config.install.config_file is not None
    assert config.install.config_file.read_bytes() == change.after
    assert [path.read_text() for path in config.install.own_dir.rglob("backups/*")] == [OLD]
    fresh = with_rules_of_file(config, {})
    assert fresh.conversation_retention_days == 7
    assert fresh.values["core_max_rows"] == 50
    assert (fresh.install, fresh.backend, fresh.embedding) == (config.install, config.backend, config.embedding)


@pytest.mark.parametrize("version", ["0.7.5", "0.8.4"])
def test_the_preview_is_what_saving_gives(tmp_path: Path, version: str) -> None:
    """The rules seen before saving are the rules after it."""
    wanted: dict[str, Value] = {
        "memory.archive_after_days": 3,
        "memory.daily_retention_days": 5,
        "memory.core_max_rows": 9,
        "memory.evict_order": "oldest",
        "memory.hygiene_enabled": False,
    }
    config = config_of(tmp_path)
    seen = rules_for(with_rules(config, wanted), version)
    save_change(config, plan_rule_change(config, wanted), NOW)
    assert rules_for(with_rules_of_file(config, {}), version) == seen
    assert rules_for(config, version) != seen


def test_read_only_saves_nothing(tmp_path: Path) -> None:
    config_of(tmp_path)
    options = OpenOptions(config_dir=tmp_path / "zc", read_only=True)
    config = configs_for(options, {"HOME": str(tmp_path)})[0]
    with pytest.raises(Refused):
        save_change(config, plan_rule_change(config, {"memory.purge_after_days": 3}), NOW)


def test_without_a_config_there_is_nothing_to_change(tmp_path: Path) -> None:
    """A lone store, and an install that goes by the defaults: each says what to do."""
    config = config_of(tmp_path)
    assert config.install.config_file is not None
    config.install.config_file.unlink()
    with pytest.raises(Refused) as missing:
        settings_of(config, "0.7.5")
    assert "onboard" in missing.value.hint
    with pytest.raises(Refused):
        plan_rule_change(config, {"memory.purge_after_days": 3})
    assert not config.install.config_file.exists()
    lone = tmp_path / "notes"
    lone.mkdir()
    (lone / "2026-11-01.md").write_text("- **a**: b\n")
    with pytest.raises(Refused, match=r"no config\.toml"):
        settings_of(configs_for(OpenOptions(path=lone), {"HOME": str(tmp_path)})[0], "0.7.5")


def test_a_memory_section_that_is_made_has_what_an_old_zeroclaw_needs(tmp_path: Path) -> None:
    """ZeroClaw <= 0.7.5 does not start with a [memory] that lacks backend or auto_save."""
    change = plan_rule_change(config_of(tmp_path, "default_temperature = 0.7\n"), {"memory.purge_after_days": 60})
    after = text_after(change)
    assert 'backend = "sqlite"' in after
    assert "auto_save = true" in after
    assert any("backend and auto_save are written as well" in warning for warning in change.warnings)


def test_a_modern_config_gets_the_key_alone(tmp_path: Path) -> None:
    change = plan_rule_change(config_of(tmp_path, NEW), {"memory.daily_max_rows": 500})
    assert text_after(change) == NEW + "daily_max_rows = 500\n"


def test_a_variable_above_the_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value that counts is the variable's, before and after."""
    variable = "ZEROCLAW_memory__purge_after_days"
    config = config_of(tmp_path, NEW, {variable: "5"})
    setting = next(one for one in settings_of(config, "0.8.4") if one.name == "memory.purge_after_days")
    assert (setting.value, setting.is_in_file) == (5, False)
    change = plan_rule_change(config, {"memory.purge_after_days": 60})
    assert any(variable in warning for warning in change.warnings)
    assert with_rules(config, {"memory.purge_after_days": 60}).purge_after_days == 5


@pytest.mark.parametrize(
    "text", ["memory = 3\n", "[memory\n", "schema_version = 9\n[memory]\n", "schema_version = 'x'\n"]
)
def test_a_config_that_is_not_understood_stays(tmp_path: Path, text: str) -> None:
    config = config_of(tmp_path)
    assert config.install.config_file is not None
    config.install.config_file.write_text(text)
    with pytest.raises(BrokenConfig):
        plan_rule_change(config, {"memory.purge_after_days": 3})
    assert config.install.config_file.read_text() == text
