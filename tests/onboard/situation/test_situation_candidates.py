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
    assert candidate.config_file == tmp_path / ".zeroclaw/config.toml"
    assert (candidate.layout, candidate.rule) == ("workspace", "the default, ~/.zeroclaw")
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
    assert candidate.config_dir == tmp_path / place
    assert candidate.rule.startswith(next(iter(environ)))


def test_two_stores_of_one_config_dir_are_one_candidate(tmp_path: Path) -> None:
    put(tmp_path / ".zeroclaw/config.toml", OLD)
    database(tmp_path / ".zeroclaw/workspace/memory/brain.db")
    database(tmp_path / ".zeroclaw/data/memory/brain.db")
    (candidate,) = candidates({}, tmp_path)
    assert candidate.layout == "data"


def test_a_store_alone_has_no_config_to_write(tmp_path: Path) -> None:
    brain = database(tmp_path / "alone/brain.db")
    for place in (brain, brain.parent):
        with pytest.raises(UsageError, match="without a config dir") as caught:
            candidates({}, tmp_path, workspace=place)
        assert "--config-dir" in caught.value.hint
