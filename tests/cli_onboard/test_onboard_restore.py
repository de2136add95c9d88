"""`zeroclaw onboard --restore`: backups with their differences, put back, and that undone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from cli_onboard_samples import CONFIG
from support.terminal import Terminal

Onboard = Run = Any
SECOND = CONFIG.replace("auto_save = true", "auto_save = false")
THIRD = SECOND.replace("vector_weight = 0.7", "vector_weight = 0.5")


@pytest.fixture
def changed(onboard: Onboard, config_file: Path) -> Path:
    """A config that was changed twice, so that there are two backups."""
    assert onboard("--set", "auto_save=false", "--no-test").code == 0
    assert onboard("--set", "vector_weight=0.5", "--no-test").code == 0
    assert config_file.read_text() == THIRD
    return config_file


def backups(onboard: Onboard) -> list[dict[str, Any]]:
    return onboard("--restore", "--json").json["backups"]


def test_the_list_without_a_terminal(onboard: Onboard, changed: Path) -> None:
    answer = onboard("--restore")
    assert answer.code == 2
    assert "--restore NAME --yes" in answer.err
    names = [backup["name"] for backup in backups(onboard)]
    assert len(names) == 2
    rows = [line for line in answer.out.splitlines() if any(name in line for name in names)]
    assert [next(name for name in names if name in row) for row in rows] == names
    assert "1 changed, 12 unchanged" in rows[0]
    assert "2 changed, 11 unchanged" in rows[1]
    assert changed.read_text() == THIRD


def test_the_list_as_a_document(onboard: Onboard, changed: Path) -> None:
    answer = onboard("--restore", "--json")
    assert (answer.code, answer.err) == (0, "")
    told = answer.json
    assert set(told) == {"config_file", "backups", "restored", "dry_run"}
    assert (told["config_file"], told["restored"]) == (str(changed), None)
    newest, oldest = told["backups"]
    assert set(newest) == {"name", "path", "when", "size", "lines", "diff"}
    assert Path(newest["path"]).read_text() == SECOND
    assert newest["size"] == len(SECOND.encode())
    assert oldest["when"] <= newest["when"]
    assert oldest["lines"] == {"changed": 2, "kept": 11}
    assert "+ auto_save = true" in oldest["diff"].splitlines()


def test_one_is_restored_and_that_is_undone(onboard: Onboard, changed: Path) -> None:
    oldest = backups(onboard)[-1]["name"]
    answer = onboard("--restore", oldest, "--yes")
    assert (answer.code, answer.err) == (0, "")
    assert changed.read_text() == CONFIG
    assert "+ auto_save = true" in answer.out
    kept = backups(onboard)[0]["name"]
    assert f"    zeroclaw onboard --config-dir {changed.parent} --restore {kept}" in answer.out.splitlines()
    assert onboard("--restore", kept, "--yes").code == 0
    assert changed.read_text() == THIRD
    assert changed.stat().st_mode & 0o777 == 0o600


def test_latest_is_the_newest_and_another_name_is_reported(onboard: Onboard, changed: Path) -> None:
    told = onboard("--restore", "latest", "--yes", "--json")
    assert told.code == 0
    assert set(told.json) == {"config_file", "restored", "backup", "dry_run", "lines", "diff"}
    assert told.json["backup"] != told.json["restored"]
    assert changed.read_text() == SECOND
    nothing = onboard("--restore", "19", "--yes")
    assert nothing.code == 1
    assert backups(onboard)[0]["name"] in nothing.err


def test_a_dry_run_and_a_missing_yes_write_nothing(onboard: Onboard, changed: Path) -> None:
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


def test_a_broken_file_does_not_stop_it_and_shows_no_secret(onboard: Onboard, changed: Path) -> None:
    changed.write_text(
        THIRD.replace("auto_save = false", 'auto_save = "fal\napi_key = "abc-sekret\n')
        + 'password = """\nline-sekret\n"""\n# token = "x-sekret"\nu = "postgres://a:b-sekret@/c@h/d"\n'
        + 'x = { api_key = "in-sekret", n = 1 }\ny = "enc2:00sekret"\n'
    )
    broken = onboard("--memory", "sqlite")
    assert broken.code == 2
    assert f"`zeroclaw onboard --config-dir {changed.parent} --restore` restores an earlier version." in broken.err
    shown = onboard("--restore", "latest", "--dry-run")
    assert (shown.code, "- api_key = ••••" in shown.out.splitlines()) == (0, True)
    assert "n = 1" in shown.out
    assert onboard("--restore", "latest", "--yes").code == 0
    assert changed.read_text() == SECOND
    assert onboard("--restore", "latest", "--yes").code == 0
    assert "fal\n" in changed.read_text()


def test_a_person_chooses_by_number_and_confirms(changed: Path) -> None:
    command = [str(Path(sys.executable).parent / "zeroclaw"), "onboard", "--config-dir", str(changed.parent)]
    with Terminal([*command, "--restore"], columns=100, lines=40) as screen:
        screen.wait_for("Which backup (1 to 2,")
        screen.press("7", "enter")
        screen.wait_for("'7' is not in the list")
        screen.press("2", "enter")
        screen.wait_for("Restore ", "? [y/N]")
        assert "+ auto_save = true" in screen.text
        screen.press("y", "enter")
        assert screen.wait_exit() == 0
        assert "To undo the restore:" in screen.text
    assert changed.read_text() == CONFIG


@pytest.mark.parametrize("keys", [("enter",), ("1", "enter", "n", "enter")])
def test_an_empty_answer_or_a_no_leaves_all(changed: Path, keys: tuple[str, ...]) -> None:
    command = [str(Path(sys.executable).parent / "zeroclaw"), "onboard", "--config-dir", str(changed.parent)]
    with Terminal([*command, "--restore"], columns=100, lines=40) as screen:
        screen.wait_for("Which backup (1 to 2,")
        screen.press(*keys)
        assert screen.wait_exit() == 1
        assert "Nothing was changed" in screen.text
    assert changed.read_text() == THIRD
