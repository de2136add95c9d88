"""`zeroclaw onboard` in a terminal, and `--restore`: list backups with differences, restore one and undo that."""

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
    """A config changed twice, so that two backups exist."""
    assert onboard("--set", "auto_save=false", "--no-test").code == 0
    assert onboard("--set", "vector_weight=0.5", "--no-test").code == 0
    assert config_file.read_text() == THIRD
    return config_file


def backups(onboard: Command) -> list[dict[str, Any]]:
    return onboard("--restore", "--json").json["backups"]


def test_the_list_has_the_newest_first(onboard: Command, changed: Path) -> None:
    shown, message = onboard("--restore"), onboard("--restore", "--json").json
    names = [backup["name"] for backup in message["backups"]]
    assert [line.strip() for line in shown.out.splitlines() if line.strip() in names] == names
    assert (shown.code, shown.err, changed.read_text()) == (0, "", THIRD)
    assert set(message) == {"config_file", "backups", "restored", "dry_run"}
    assert (message["config_file"], message["restored"]) == (str(changed), None)
    newest, oldest = message["backups"]
    assert set(newest) == {"name", "path", "when"}
    assert Path(newest["path"]).read_text() == SECOND
    assert oldest["when"] <= newest["when"]


def test_a_backup_is_restored_and_restoring_can_be_undone(onboard: Command, changed: Path) -> None:
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


def test_latest_means_the_newest_backup_and_an_unknown_name_is_reported(onboard: Command, changed: Path) -> None:
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


def test_a_broken_config_can_be_restored_and_shows_no_secret(onboard: Command, changed: Path) -> None:
    changed.write_text(THIRD.replace("auto_save = false", 'auto_save = "fal\napi_key = "abc-sekret\n'))
    broken = onboard("--memory", "sqlite")
    assert broken.code == 2
    assert f"`zeroclaw onboard --config-dir {changed.parent} --restore` restores an earlier version." in broken.err
    shown = onboard("--restore", "latest", "--dry-run")
    assert (shown.code, "The lines are not compared" in shown.out) == (0, True)
    assert onboard("--restore", "latest", "--yes").code == 0
    assert changed.read_text() == SECOND
    changed.unlink()
    shown = onboard("--restore", "latest", "--yes")
    assert (shown.code, "/backups/config." in shown.out) == (0, True)
    assert "fal\n" in changed.read_text()


@pytest.mark.parametrize(("key", "code", "text"), [("y", 0, CONFIG), ("n", 1, THIRD)])
def test_the_user_sees_the_difference_and_confirms(
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


COMMAND = [str(Path(sys.executable).parent / "zeroclaw"), "onboard"]


@pytest.mark.parametrize("flags", [(), ("--interactive", "--set", "memory.auto_save=false")])
def test_the_questions_start_and_ctrl_c_ends_them(config_file: Path, flags: tuple[str, ...]) -> None:
    with Terminal([*COMMAND, "--config-dir", str(config_file.parent), *flags], columns=80, lines=24) as screen:
        screen.wait_for("Which settings do you want to configure?", "Everything")
        screen.press("ctrl+c")
        assert screen.wait_exit() == 130
        assert "Nothing was changed" in screen.text
    assert config_file.read_text() == CONFIG


def test_a_command_to_copy_stays_on_one_line_in_a_narrow_terminal(config_file: Path) -> None:
    with Terminal(
        [*COMMAND, "--config-dir", str(config_file.parent), "--set", "auto_save=false", "--no-test"], columns=40
    ) as screen:
        assert screen.wait_exit() == 0
        message = screen.raw.decode()
    assert f"zeroclaw onboard --config-dir {config_file.parent} --restore 2" in message
    with Terminal([*COMMAND, "--config-dir", str(config_file.parent), "--restore", "latest", "--yes"]) as screen:
        assert screen.wait_exit() == 0
        message = screen.raw.decode()
    assert f"zeroclaw onboard --config-dir {config_file.parent} --restore 2" in message


def test_flags_alone_never_ask_in_a_terminal(config_file: Path) -> None:
    flags = ("--set", "auto_save=false", "--dry-run")
    with Terminal([*COMMAND, "--config-dir", str(config_file.parent), *flags], columns=120, lines=40) as screen:
        assert screen.wait_exit() == 0
        assert "+ auto_save = false" in screen.text
        assert b"\x1b[32m+ auto_save = false\x1b[0m" in screen.raw
        assert b"\x1b[31m- auto_save = true\x1b[0m" in screen.raw
