"""The real zeroclaw on PATH."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from zeroclaw_tui.config.real_binary import PASS_THROUGH_MARKER, real_zeroclaw


def put(folder: Path, text: str, mode: int = 0o755) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "zeroclaw"
    file.write_text(text)
    file.chmod(mode)
    return file


def path_of(*folders: Path | str) -> dict[str, str]:
    return {"PATH": os.pathsep.join(map(str, folders))}


def test_first_real_one_is_taken(tmp_path: Path) -> None:
    first = put(tmp_path / "a", "\x7fELF zeroclaw_tui is not looked for in a program")
    put(tmp_path / "b", "#!/bin/sh\n")
    assert real_zeroclaw(path_of(tmp_path / "none", tmp_path / "a", tmp_path / "b")) == first


def test_our_script_of_another_environment_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "a", "#!/usr/bin/python3\nfrom zeroclaw_tui.cli.main import zeroclaw\n")
    real = put(tmp_path / "b", "#!/bin/sh\n")
    assert real_zeroclaw(path_of(tmp_path / "a", tmp_path / "b")) == real


def test_running_script_is_passed_over_by_its_real_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = put(tmp_path / "a", "#!/bin/sh\nexec something\n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/zeroclaw").symlink_to(ours)
    monkeypatch.setattr(sys, "argv", [str(ours)])
    assert real_zeroclaw(path_of(tmp_path / "a", tmp_path / "b")) is None


def test_script_beside_this_python_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "bin", "#!/bin/sh\n")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    assert real_zeroclaw(path_of(tmp_path / "bin")) is None


def test_folders_and_files_that_cannot_run_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "a", "#!/bin/sh\n", mode=0o644)
    (tmp_path / "b/zeroclaw").mkdir(parents=True)
    assert real_zeroclaw(path_of(tmp_path / "a", tmp_path / "b")) is None


def test_relative_path_entries_give_an_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = put(tmp_path / "a", "#!/bin/sh\n")
    monkeypatch.chdir(tmp_path / "a")
    assert real_zeroclaw({"PATH": ""}) == real


def test_no_path_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert real_zeroclaw({}) is None


def test_marker_cannot_be_taken_for_a_setting_of_zeroclaw() -> None:
    assert PASS_THROUGH_MARKER.upper() == PASS_THROUGH_MARKER
