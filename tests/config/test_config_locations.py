"""Which install is found by which rule, and how a given path is interpreted."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest
from support.files import put
from support.memories import NoInstall, Unreadable
from support.places import Install, find_installs, install_at, load_config, workspace_rule

OLD = '[memory]\nbackend = "sqlite"\nauto_save = true\n'
NEW = "schema_version = 3\n"


def found(home: Path, **environ: str) -> list[tuple[str, Path]]:
    return [(install.layout, install.database) for install in find_installs(environ, home)]


def test_the_default_install_of_the_old_layout_is_found(tmp_path: Path) -> None:
    brain = put(tmp_path / ".zeroclaw/workspace/memory/brain.db")
    (install,) = find_installs({}, tmp_path)
    assert (install.layout, install.database, install.rule) == ("workspace", brain, "the default, ~/.zeroclaw")
    assert install.config_file == tmp_path / ".zeroclaw/config.toml"
    assert install.own_dir == tmp_path / ".zeroclaw/zeroclaw-tui"


def test_both_layouts_are_listed_and_data_wins(tmp_path: Path) -> None:
    old = put(tmp_path / ".zeroclaw/workspace/memory/brain.db")
    new = put(tmp_path / ".zeroclaw/data/memory/brain.db")
    put(tmp_path / ".zeroclaw/config.toml", OLD)
    assert found(tmp_path) == [("data", new), ("workspace", old)]


@pytest.mark.parametrize(("text", "layout"), [(OLD, "workspace"), (NEW, "data"), ("broken = [", "workspace")])
def test_config_alone_is_an_install_of_its_schema(tmp_path: Path, text: str, layout: str) -> None:
    put(tmp_path / ".zeroclaw/config.toml", text)
    (install,) = find_installs({}, tmp_path)
    assert install.layout == layout
    assert not install.database.exists()


def test_agent_notes_make_the_data_folder_the_store_of_a_markdown_install(tmp_path: Path) -> None:
    put(tmp_path / ".zeroclaw/config.toml", 'schema_version = 3\n[memory]\nbackend = "markdown.notes"\n')
    put(tmp_path / ".zeroclaw/agents/default/workspace/MEMORY.md")
    put(tmp_path / ".zeroclaw/workspace/old.txt")
    (install,) = find_installs({}, tmp_path)
    assert (install.layout, install.root) == ("data", tmp_path / ".zeroclaw/data")


def test_config_dir_variable_is_trimmed_and_expanded(tmp_path: Path) -> None:
    brain = put(tmp_path / "mine/workspace/memory/brain.db")
    put(tmp_path / ".zeroclaw/workspace/memory/brain.db")
    (install,) = find_installs({"ZEROCLAW_CONFIG_DIR": "  ~/mine \n"}, tmp_path)
    assert (install.database, install.rule) == (brain, "ZEROCLAW_CONFIG_DIR")


def test_config_dir_and_workspace_are_combined_in_the_old_generation(tmp_path: Path) -> None:
    put(tmp_path / "cfg/config.toml", OLD)
    elsewhere = put(tmp_path / "proj/workspace/memory/brain.db")
    left = put(tmp_path / "cfg/workspace/memory/brain.db")
    installs = find_installs(
        {"ZEROCLAW_CONFIG_DIR": str(tmp_path / "cfg"), "ZEROCLAW_WORKSPACE": str(tmp_path / "proj")}, tmp_path
    )
    assert [install.database for install in installs] == [elsewhere, left]
    assert all(install.config_dir == tmp_path / "cfg" for install in installs)
    assert "ZEROCLAW_WORKSPACE" in installs[0].rule
    assert "not used" in installs[1].rule


def test_config_dir_and_workspace_are_not_combined_if_data_is_in_use(tmp_path: Path) -> None:
    new = put(tmp_path / "cfg/data/memory/brain.db")
    old = put(tmp_path / "proj/workspace/memory/brain.db")
    environ = {"ZEROCLAW_CONFIG_DIR": str(tmp_path / "cfg"), "ZEROCLAW_WORKSPACE": str(tmp_path / "proj")}
    installs = find_installs(environ, tmp_path)
    assert [(install.database, install.layout) for install in installs] == [(new, "data"), (old, "workspace")]


def test_the_workspace_variable_sets_the_config_dir_of_the_new_generation(tmp_path: Path) -> None:
    put(tmp_path / ".zeroclaw/config.toml", OLD)
    old = put(tmp_path / "proj/memory/brain.db")
    new = put(tmp_path / ".zeroclaw/data/memory/brain.db")
    installs = find_installs({"ZEROCLAW_WORKSPACE": str(tmp_path / "proj")}, tmp_path / "other")
    assert [install.database for install in installs] == [new, old]
    assert "0.8.0" in installs[0].rule


def test_the_data_dir_variable_sets_only_the_config_dir(tmp_path: Path) -> None:
    brain = put(tmp_path / "cfg/data/memory/brain.db")
    put(tmp_path / "cfg/config.toml", NEW)
    (install,) = find_installs({"ZEROCLAW_DATA_DIR": str(tmp_path / "cfg")}, tmp_path)
    assert (install.layout, install.database, install.rule) == ("data", brain, "ZEROCLAW_DATA_DIR")


def test_config_dir_variable_wins_over_the_data_dir(tmp_path: Path) -> None:
    for folder in ("cfg", "other"):
        put(tmp_path / folder / "config.toml", NEW)
    (install,) = find_installs(
        {"ZEROCLAW_CONFIG_DIR": str(tmp_path / "cfg"), "ZEROCLAW_DATA_DIR": str(tmp_path / "other")}, tmp_path
    )
    assert (install.config_dir, install.rule) == (tmp_path / "cfg", "ZEROCLAW_CONFIG_DIR")


def test_the_marker_is_followed_and_the_default_also_listed(tmp_path: Path) -> None:
    default = put(tmp_path / ".zeroclaw/workspace/memory/brain.db")
    marked = put(tmp_path / ".zeroclaw/profiles/work/workspace/memory/brain.db")
    put(tmp_path / ".zeroclaw/active_workspace.toml", 'config_dir = "profiles/work"\n')
    installs = find_installs({}, tmp_path)
    assert [install.database for install in installs] == [marked, default]
    assert "active_workspace.toml" in installs[0].rule


def test_the_marker_is_second_if_the_default_has_a_store_of_the_new_generation(tmp_path: Path) -> None:
    new = put(tmp_path / ".zeroclaw/data/memory/brain.db")
    marked = put(tmp_path / "work/workspace/memory/brain.db")
    put(tmp_path / ".zeroclaw/active_workspace.toml", f'config_dir = "{tmp_path}/work"\n')
    assert found(tmp_path) == [("data", new), ("workspace", marked)]


@pytest.mark.parametrize("text", ["config_dir = ", 'config_dir = "  "', "config_dir = 3"])
def test_a_useless_marker_is_ignored(tmp_path: Path, text: str) -> None:
    put(tmp_path / ".zeroclaw/config.toml", OLD)
    put(tmp_path / ".zeroclaw/active_workspace.toml", text)
    (install,) = find_installs({}, tmp_path)
    assert install.config_dir == tmp_path / ".zeroclaw"


def test_the_homebrew_folder_is_used_only_on_macos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brain = put(tmp_path / "brew/var/zeroclaw/data/memory/brain.db")
    environ = {"HOMEBREW_PREFIX": str(tmp_path / "brew")}
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(NoInstall):
        find_installs(environ, tmp_path)
    monkeypatch.setattr(sys, "platform", "darwin")
    (install,) = find_installs(environ, tmp_path)
    assert install.database == brain
    assert "Homebrew" in install.rule


def test_a_missing_install_error_lists_the_searched_folders_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoInstall) as caught:
        find_installs({}, tmp_path)
    assert str(tmp_path / ".zeroclaw") in caught.value.message
    assert "zeroclaw-tui --demo" in caught.value.hint


def test_a_variable_with_a_missing_folder_does_not_open_another_install(tmp_path: Path) -> None:
    put(tmp_path / ".zeroclaw/workspace/memory/brain.db")
    with pytest.raises(NoInstall, match="ZEROCLAW_CONFIG_DIR names"):
        find_installs({"ZEROCLAW_CONFIG_DIR": "/nowhere"}, tmp_path)


def test_a_folder_without_permission_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.stat

    def guarded(path: Path, *rest: object, **named: object) -> os.stat_result:
        if ".zeroclaw/" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return really(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", guarded)
    with pytest.raises(Unreadable, match=r"cannot be read: Permission denied\."):
        find_installs({}, tmp_path)


def test_options_win_over_variables(tmp_path: Path) -> None:
    mine = put(tmp_path / "mine/workspace/memory/brain.db")
    put(tmp_path / "other/workspace/memory/brain.db")
    environ = {"ZEROCLAW_CONFIG_DIR": str(tmp_path / "other")}
    (install,) = find_installs(environ, tmp_path, config_dir=tmp_path / "mine")
    assert (install.database, install.rule) == (mine, "--config-dir")
    (install,) = find_installs(environ, tmp_path, workspace=tmp_path / "mine/workspace")
    assert (install.database, install.rule) == (mine, "--workspace")


def test_config_dir_and_workspace_options_can_be_combined(tmp_path: Path) -> None:
    put(tmp_path / "cfg/config.toml", OLD)
    brain = put(tmp_path / "ws/memory/brain.db")
    (install,) = find_installs({}, tmp_path, config_dir=tmp_path / "cfg", workspace=tmp_path / "ws")
    assert (install.config_dir, install.database) == (tmp_path / "cfg", brain)


@pytest.mark.parametrize(
    ("folder", "config", "expected"),
    [
        ("x/workspace", None, ("x/.zeroclaw", "x/workspace")),
        ("x/proj", None, ("x/proj", "x/proj/workspace")),
        ("x/proj", "x/.zeroclaw/config.toml", ("x/.zeroclaw", "x/proj")),
        ("x/proj", "x/proj/config.toml", ("x/proj", "x/proj/workspace")),
        ("x/workspace", "x/workspace/config.toml", ("x/workspace", "x/workspace/workspace")),
        ("x/data", None, ("x/data", "x/data/workspace")),
        ("x/Workspace", None, ("x/Workspace", "x/Workspace/workspace")),
    ],
)
def test_the_workspace_follows_zeroclaws_rule(
    tmp_path: Path, folder: str, config: str | None, expected: tuple[str, str]
) -> None:
    if config:
        put(tmp_path / config, OLD)
    assert workspace_rule(tmp_path / folder) == (tmp_path / expected[0], tmp_path / expected[1])


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
def test_any_path_within_an_install_finds_it(install_dir: Path, part: str) -> None:
    install = at(install_dir / part)
    assert install.config_dir == install_dir
    assert install.database == install_dir / "workspace/memory/brain.db"
    assert install.layout == "workspace"
    assert install.rule == "the path given"
    assert load_config(install, {}).vector_weight == 0.6


@pytest.mark.parametrize("part", ["", "data", "data/memory", "data/memory/brain.db"])
def test_any_path_within_a_newer_install_finds_it(tmp_path: Path, part: str) -> None:
    (tmp_path / "data/memory").mkdir(parents=True)
    (tmp_path / "config.toml").write_text("schema_version = 3\n")
    (tmp_path / "data/memory/brain.db").write_bytes(b"")
    install = at(tmp_path / part)
    assert (install.layout, install.config_dir) == ("data", tmp_path)


def test_a_workspace_next_to_a_dot_zeroclaw_uses_its_config(tmp_path: Path) -> None:
    (tmp_path / ".zeroclaw").mkdir()
    (tmp_path / ".zeroclaw/config.toml").write_text(CONFIG)
    (tmp_path / "proj/memory").mkdir(parents=True)
    (tmp_path / "proj/memory/brain.db").write_bytes(b"")
    assert at(tmp_path / "proj/memory/brain.db").config_dir == tmp_path / ".zeroclaw"


def test_an_empty_workspace_of_an_install_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG)
    (tmp_path / "workspace").mkdir()
    assert at(tmp_path / "workspace").config_dir == tmp_path


@pytest.mark.parametrize("name", ["copy.db", "discord.db", "brain.db.backup-20260101T000000", "brain.db", "notes.txt"])
def test_a_file_outside_an_install_is_opened_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    install = at(tmp_path / name)
    assert (install.layout, install.config_dir, install.database) == ("lone", None, tmp_path / name)
    assert load_config(install, {}).backend == "sqlite"


@pytest.mark.parametrize("name", ["memory/discord.db", "memory.db"])
def test_another_database_within_an_install_is_opened_alone(install_dir: Path, name: str) -> None:
    """The config's store is memory/brain.db; a path to another file opens that file."""
    other = install_dir / "workspace" / name
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
def test_a_folder_of_markdown_notes_is_recognised(tmp_path: Path, files: list[str], given: str, root: str) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("- a\n")
    install = at(tmp_path / given)
    assert (install.layout, install.root, install.config_dir) == ("lone", tmp_path / root, None)
    assert load_config(install, {}).backend == "markdown"


def test_markdown_files_elsewhere_are_no_memory(tmp_path: Path) -> None:
    """A workspace without memory is recognised by its config."""
    (tmp_path / "loose.md").write_text("- a\n")
    for given in (tmp_path, tmp_path / "loose.md"):
        with pytest.raises(Unreadable, match="memory"):
            at(given)
    (tmp_path / "z/workspace").mkdir(parents=True)
    (tmp_path / "z/config.toml").write_text(CONFIG)
    (tmp_path / "z/workspace/loose.md").write_text("- a\n")
    assert at(tmp_path / "z/workspace").config_dir == tmp_path / "z"


def test_a_missing_path_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"gone\.db does not exist\."):
        at(tmp_path / "gone.db")


def test_pipe_is_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable, match="neither a file nor a directory"):
        at(tmp_path / "pipe")


def test_an_empty_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"no config\.toml, no database and no Markdown"):
        at(tmp_path)
