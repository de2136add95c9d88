"""What a given path means."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import Install, install_at
from zeroclaw_tui.memory.errors import Unreadable

CONFIG = '[memory]\nbackend = "sqlite"\nauto_save = true\nvector_weight = 0.6\n'


@pytest.fixture
def install_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "cfg"
    (folder / "workspace/memory").mkdir(parents=True)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "workspace/memory/brain.db").write_bytes(b"")
    return folder


def at(path: Path, **environ: str) -> Install:
    return install_at(path, environ, Path("/home/nobody"))


@pytest.mark.parametrize("part", ["", "config.toml", "workspace", "workspace/memory", "workspace/memory/brain.db"])
def test_every_part_of_an_install_leads_to_it(install_dir: Path, part: str) -> None:
    install = at(install_dir / part)
    assert install.config_dir == install_dir
    assert install.database == install_dir / "workspace/memory/brain.db"
    assert install.layout == "workspace"
    assert install.rule == "the path given"
    assert load_config(install, {}).vector_weight == 0.6


@pytest.mark.parametrize("part", ["", "data", "data/memory", "data/memory/brain.db"])
def test_every_part_of_a_newer_install_leads_to_it(tmp_path: Path, part: str) -> None:
    (tmp_path / "data/memory").mkdir(parents=True)
    (tmp_path / "config.toml").write_text("schema_version = 3\n")
    (tmp_path / "data/memory/brain.db").write_bytes(b"")
    install = at(tmp_path / part)
    assert (install.layout, install.config_dir) == ("data", tmp_path)


def test_workspace_next_to_a_dot_zeroclaw(tmp_path: Path) -> None:
    (tmp_path / ".zeroclaw").mkdir()
    (tmp_path / ".zeroclaw/config.toml").write_text(CONFIG)
    (tmp_path / "proj/memory").mkdir(parents=True)
    (tmp_path / "proj/memory/brain.db").write_bytes(b"")
    assert at(tmp_path / "proj/memory/brain.db").config_dir == tmp_path / ".zeroclaw"


def test_empty_workspace_of_an_install(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG)
    (tmp_path / "workspace").mkdir()
    assert at(tmp_path / "workspace").config_dir == tmp_path


@pytest.mark.parametrize("name", ["copy.db", "discord.db", "brain.db.backup-20260101T000000", "brain.db", "notes.txt"])
def test_lone_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    install = at(tmp_path / name)
    assert (install.layout, install.config_dir, install.database) == ("lone", None, tmp_path / name)
    assert load_config(install, {}).backend == "sqlite"


def test_another_database_of_an_install_is_lone(install_dir: Path) -> None:
    other = install_dir / "workspace/memory/discord.db"
    other.write_bytes(b"")
    install = at(other)
    assert (install.layout, install.database) == ("lone", other)


def test_memory_db_next_to_a_brain_db_is_lone(install_dir: Path) -> None:
    """The config's store is brain.db; who asks for the other file gets that file."""
    other = install_dir / "workspace/memory.db"
    other.write_bytes(b"")
    install = at(other)
    assert (install.layout, install.database) == ("lone", other)


def test_own_folder_of_a_lone_file_follows_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real.db").write_bytes(b"")
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    name = hashlib.sha256(os.fsencode(os.path.realpath(tmp_path / "real.db"))).hexdigest()
    assert at(tmp_path / "link.db").own_dir == Path("/home/nobody/.local/share/zeroclaw-tui") / name
    assert at(tmp_path / "real.db", XDG_DATA_HOME="/data").own_dir == Path("/data/zeroclaw-tui") / name
    assert at(tmp_path / "real.db", XDG_DATA_HOME="relative").own_dir.is_relative_to("/home/nobody")


@pytest.mark.parametrize(
    ("files", "given", "root"),
    [
        (["MEMORY.md"], "", ""),
        (["memory/2026-01-01.md"], "", ""),
        (["memory/2026-01-01.md"], "memory", ""),
        (["memory/2026-01-01.md"], "memory/2026-01-01.md", ""),
        (["MEMORY.md"], "MEMORY.md", ""),
    ],
)
def test_markdown_folder(tmp_path: Path, files: list[str], given: str, root: str) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("- a\n")
    install = at(tmp_path / given)
    assert (install.layout, install.root, install.config_dir) == ("lone", tmp_path / root, None)
    assert load_config(install, {}).backend == "markdown"


def test_notes_elsewhere_are_no_memory(tmp_path: Path) -> None:
    """A workspace without memory is known by its config."""
    (tmp_path / "loose.md").write_text("- a\n")
    for given in (tmp_path, tmp_path / "loose.md"):
        with pytest.raises(Unreadable, match="memory"):
            at(given)
    (tmp_path / "z/workspace").mkdir(parents=True)
    (tmp_path / "z/config.toml").write_text(CONFIG)
    (tmp_path / "z/workspace/loose.md").write_text("- a\n")
    assert at(tmp_path / "z/workspace").config_dir == tmp_path / "z"


def test_missing_path_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"gone\.db does not exist\."):
        at(tmp_path / "gone.db")


def test_pipe_is_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable, match="neither a file nor a directory"):
        at(tmp_path / "pipe")


def test_empty_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"no config\.toml, no database and no Markdown"):
        at(tmp_path)
