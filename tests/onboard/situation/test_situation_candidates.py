"""Which config dirs the wizard might write to."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.small_store import make

from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.onboard.situation import candidates

OLD = '[memory]\nbackend = "sqlite"\nauto_save = true\n'


def put(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return make(path, "G2", [{}])


def test_without_anything_it_is_the_default_in_the_old_layout(tmp_path: Path) -> None:
    (candidate,) = candidates({}, tmp_path)
    assert candidate.install.config_file == tmp_path / ".zeroclaw/config.toml"
    assert (candidate.install.layout, candidate.install.rule) == ("workspace", "the default, ~/.zeroclaw")
    assert candidate.found == ()
    assert not (tmp_path / ".zeroclaw").exists()


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({"ZEROCLAW_CONFIG_DIR": "~/mine"}, "mine"),
        ({"ZEROCLAW_DATA_DIR": "~/mine"}, "mine"),
        ({"ZEROCLAW_DATA_DIR": "~/mine/data"}, "mine/.zeroclaw"),
        ({"ZEROCLAW_WORKSPACE": "~/mine"}, "mine"),
        ({"ZEROCLAW_WORKSPACE": "~/project/workspace"}, "project/.zeroclaw"),
    ],
)
def test_a_variable_names_the_place_that_would_be(tmp_path: Path, environ: dict[str, str], place: str) -> None:
    (candidate,) = candidates(environ, tmp_path)
    assert candidate.install.config_dir == tmp_path / place
    assert candidate.install.rule.startswith(next(iter(environ)))


def test_two_config_dirs_that_hold_something_are_two_candidates(tmp_path: Path) -> None:
    put(tmp_path / ".zeroclaw/config.toml", OLD)
    put(tmp_path / ".zeroclaw/active_workspace.toml", f'config_dir = "{tmp_path}/work"\n')
    database(tmp_path / "work/workspace/memory/brain.db")
    first, second = candidates({}, tmp_path)
    assert first.install.config_dir == tmp_path / "work"
    assert first.found == ("workspace/memory/brain.db",)
    assert second.install.config_dir == tmp_path / ".zeroclaw"
    assert second.found == ("config.toml",)


def test_two_stores_of_one_config_dir_are_one_candidate_that_names_both(tmp_path: Path) -> None:
    put(tmp_path / ".zeroclaw/config.toml", OLD)
    database(tmp_path / ".zeroclaw/workspace/memory/brain.db")
    database(tmp_path / ".zeroclaw/data/memory/brain.db")
    put(tmp_path / ".zeroclaw/workspace/MEMORY.md")
    (candidate,) = candidates({}, tmp_path)
    assert candidate.install.layout == "data"
    assert candidate.found == (
        "config.toml",
        "data/memory/brain.db",
        "workspace/memory/brain.db",
        "workspace: MEMORY.md",
    )


@pytest.mark.parametrize("is_there", [False, True])
def test_a_workspace_with_nothing_in_it_is_taken_by_its_name(tmp_path: Path, is_there: bool) -> None:
    workspace = tmp_path / "project/workspace"
    if is_there:
        workspace.mkdir(parents=True)
    (candidate,) = candidates({}, tmp_path, workspace=workspace)
    assert candidate.install.config_dir == tmp_path / "project/.zeroclaw"
    assert candidate.install.root == workspace


def test_a_store_alone_has_no_config_to_write(tmp_path: Path) -> None:
    brain = database(tmp_path / "alone/brain.db")
    for place in (brain, brain.parent):
        with pytest.raises(UsageError, match="without a config dir") as told:
            candidates({}, tmp_path, workspace=place)
        assert "--config-dir" in told.value.hint
