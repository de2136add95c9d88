"""`zeroclaw onboard --restore`: backups with their differences, put back, and that undone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from onboard_samples import CONFIG
from support.commands import Command
from support.terminal import Terminal

SECOND = CONFIG.replace("auto_save = true", "auto_save = false")
THIRD = SECOND.replace("vector_weight = 0.7", "vector_weight = 0.5")


@pytest.fixture
def changed(onboard: Command, config_file: Path) -> Path:
    """A config that was changed twice, so that there are two backups."""
    assert onboard("--set", "auto_save=false", "--no-test").code == 0
    assert onboard("--set", "vector_weight=0.5", "--no-test").code == 0
    assert config_file.read_text() == THIRD
    return config_file


def backups(onboard: Command) -> list[dict[str, Any]]:
    return onboard("--restore", "--json").json["backups"]


def test_the_list_has_the_newest_first(onboard: Command, changed: Path) -> None:
    answer = onboard("--restore")
    assert (answer.code, answer.err) == (0, "")
    names = [backup["name"] for backup in backups(onboard)]
    assert len(names) == 2
    assert [line.strip() for line in answer.out.splitlines() if line.strip() in names] == names
    assert changed.read_text() == THIRD


def test_the_list_as_a_document(onboard: Command, changed: Path) -> None:
    answer = onboard("--restore", "--json")
    assert (answer.code, answer.err) == (0, "")
    message = answer.json
    assert set(message) == {"config_file", "backups", "restored", "dry_run"}
    assert (message["config_file"], message["restored"]) == (str(changed), None)
    newest, oldest = message["backups"]
    assert set(newest) == {"name", "path", "when"}
    assert Path(newest["path"]).read_text() == SECOND
    assert oldest["when"] <= newest["when"]


def test_one_is_restored_and_that_is_undone(onboard: Command, changed: Path) -> None:
    oldest = backups(onboard)[-1]["name"]
    assert "+ auto_save = true" in onboard("--restore", oldest, "--dry-run").out
    answer = onboard("--restore", oldest, "--yes")
    assert (answer.code, answer.err) == (0, "")
    assert changed.read_text() == CONFIG
    kept = backups(onboard)[0]["name"]
    assert f"    zeroclaw onboard --config-dir {changed.parent} --restore {kept}" in answer.out.splitlines()
    assert onboard("--restore", kept, "--yes").code == 0
    assert changed.read_text() == THIRD
    assert changed.stat().st_mode & 0o777 == 0o600


def test_latest_is_the_newest_and_another_name_is_reported(onboard: Command, changed: Path) -> None:
    message = onboard("--restore", "latest", "--yes", "--json")
    assert message.code == 0
    assert set(message.json) == {"config_file", "restored", "backup", "dry_run", "lines", "diff"}
    assert message.json["backup"] != message.json["restored"]
    assert changed.read_text() == SECOND
    nothing = onboard("--restore", "19", "--yes")
    assert nothing.code == 1
    assert backups(onboard)[0]["name"] in nothing.err


def test_a_dry_run_and_a_missing_yes_write_nothing(onboard: Command, changed: Path) -> None:
    shown = onboard("--restore", "latest", "--dry-run")
    assert shown.code == 0
    assert "+ vector_weight = 0.7" in shown.out
    assert "Nothing was changed" in shown.err
    refused = onboard("--restore", "latest")
    assert (refused.code, refused.out) == (2, "")
    assert "--yes" in refused.err
    assert onboard("--restore", "--dry-run").code == 0
    assert changed.read_text() == THIRD
    assert len(backups(onboard)) == 2


def test_a_broken_file_does_not_stop_it_and_shows_no_secret(onboard: Command, changed: Path) -> None:
    changed.write_text(THIRD.replace("auto_save = false", 'auto_save = "fal\napi_key = "abc-sekret\n'))
    broken = onboard("--memory", "sqlite")
    assert broken.code == 2
    assert f"`zeroclaw onboard --config-dir {changed.parent} --restore` restores an earlier version." in broken.err
    shown = onboard("--restore", "latest", "--dry-run")
    assert (shown.code, "The lines are not compared" in shown.out) == (0, True)
    assert onboard("--restore", "latest", "--yes").code == 0
    assert changed.read_text() == SECOND
    assert onboard("--restore", "latest", "--yes").code == 0
    assert "fal\n" in changed.read_text()


@pytest.mark.parametrize(("key", "code", "text"), [("y", 0, CONFIG), ("n", 1, THIRD)])
def test_a_person_sees_the_difference_and_confirms(
    onboard: Command, changed: Path, key: str, code: int, text: str
) -> None:
    command = [str(Path(sys.executable).parent / "zeroclaw"), "onboard", "--config-dir", str(changed.parent)]
    with Terminal([*command, "--restore", backups(onboard)[-1]["name"]], columns=100, lines=40) as screen:
        screen.wait_for("Restore ", "? [y/N]")
        assert "+ auto_save = true" in screen.text
        screen.press(key, "enter")
        assert screen.wait_exit() == code
        assert ("To undo the restore:" in screen.text) == (key == "y")
    assert changed.read_text() == text
