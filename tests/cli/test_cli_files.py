"""`memory export`, `import`, `copy`, `snapshot` and `hydrate`: output files, imported memories and undo."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Brain, Command
from support.installs import make_install
from support.rmem_file import create_milas_store
from support.terminal import Terminal

from zeroclaw_tui.cli.transfer import SOURCES
from zeroclaw_tui.curation.transfer.imports import FORMATS

FORMATS_DATA = Path(__file__).parents[1] / "data" / "formats"
TAKEN = (
    "  1 whose key is taken: left out (--overwrite replaces the existing ones, --rename adds these under another key)"
)
NOTES = (
    {"key": "new", "content": "New"},
    {"key": "newer", "content": "Newer", "category": "daily"},
    {"key": "lang", "content": "User prefers Rust"},
    {"key": "pet", "content": "Dog named Rex \x1b[31m"},
)
SNAPSHOT = "# 🧠 ZeroClaw Memory Snapshot\n\n" + "".join(
    f"### 🔑 `{key}`\n\n{content}\n\n*Created: {at} | Updated: {at}*\n\n---\n\n"
    for key, content, at in (
        ("lang", "User prefers Haskell", "2025-01-01T10:00:00+00:00"),
        ("tea", "Green tea\n---\nat four", "2025-01-15T10:00:00+00:00"),
        ("pet", "Cat named Mio", "2025-01-15T10:00:00+00:00"),
    )
)


def contents(database: Path) -> dict[str, str]:
    return dict(Brain(database).rows("key, content"))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Two new memories, an equal one, and one whose key is taken."""
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in NOTES))
    return path


@pytest.fixture
def snapshot(install: Path) -> Path:
    """A snapshot next to the database with a new memory, an equal one, and one whose key is taken."""
    path = install / "workspace" / "MEMORY_SNAPSHOT.md"
    path.write_text(SNAPSHOT)
    return path


@pytest.fixture
def empty(brain: Brain) -> Path:
    """The path of the missing database."""
    for path in brain.path.parent.iterdir():
        path.unlink()
    return brain.path


def test_export_writes_jsonl_to_stdout_and_nothing_else(memory: Command) -> None:
    done = memory("export")
    header, *rows = [json.loads(line) for line in done.out.splitlines()]
    assert (header["zeroclaw_memories"], header["backend"], header["generation"]) == (1, "sqlite", "G2")
    assert [row["key"] for row in rows] == ["lang", "editor", "pet", "tz", "food", "food_allergy", "--json", ""]
    assert rows[2]["session_id"] == "tg_1"
    assert done.err == "zeroclaw: 1 superseded memory is left out; --superseded show takes it along.\n"
    assert memory("export", "--superseded", "show").err == ""


def test_an_export_escapes_control_characters_only_in_a_terminal(
    memory: Command, install: Path, script: Callable[[str], str]
) -> None:
    hostile = "before \x1b[2J\x1b]0;owned\x07 after"
    assert memory("store", "hostile", hostile).code == 0
    command = [script("zeroclaw"), "memory", "--config-dir", str(install), "export", "--format", "markdown"]
    with Terminal([*command, "--contains", "owned"], columns=100, lines=40) as screen:
        screen.wait_for("# ZeroClaw memories", "before ␛[2J␛]0;owned␇ after")
        assert screen.wait_exit() == 0
    assert hostile in memory("export", "--format", "markdown", "--contains", "owned").out


@pytest.mark.parametrize(
    ("name", "start"),
    [("x.csv", b"key,content,"), ("x.md", b"# ZeroClaw memories\n"), ("x.jsonl", b'{"zeroclaw_mem')],
)
def test_the_file_name_sets_the_export_format_and_replacing_needs_a_request(
    memory: Command, tmp_path: Path, name: str, start: bytes
) -> None:
    file = tmp_path / name
    done = memory("export", str(file))
    assert (done.code, done.out.startswith(f"✓ Exported 8 memories to {file} (")) == (0, True)
    assert file.read_bytes().startswith(start)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("mine")
    refused = memory("export", str(file))
    assert (refused.code, file.read_text()) == (1, "mine")
    assert "already exists.\nPass --overwrite to replace it." in refused.err
    assert memory("export", str(file), "--overwrite").code == 0
    assert file.read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["MEMORY.md", "memory/2026-11-20.md"])
def test_an_export_never_replaces_the_notes_of_its_markdown_store(memory: Command, install: Path, name: str) -> None:
    note = install / "workspace" / name
    note.write_text("- **lang**: Prefers Rust\n")
    done = memory("--backend", "markdown", "export", str(note), "--overwrite")
    assert (done.code, note.read_text()) == (1, "- **lang**: Prefers Rust\n")
    assert "belongs to the store itself" in done.err


def test_the_json_of_an_export_has_file_count_size_and_losses(memory: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.data"
    message = memory("export", str(file), "--format", "csv", "--category", "core", "--json").json
    assert message.pop("lost")[0].startswith("CSV holds Unicode text only")
    assert message == {
        "file": str(file), "count": 6, "size": file.stat().st_size, "format": "csv", "superseded_hidden": 1,
    }  # fmt: skip
    assert len(list(csv.reader(io.StringIO(file.read_text(), newline="")))) == 7


@pytest.mark.parametrize(
    ("option", "count", "pets"),
    [
        ((), 2, {"pet": "Cat named Mio"}),
        (("--overwrite",), 3, {"pet": "Dog named Rex \x1b[31m"}),
        (("--rename",), 3, {"pet": "Cat named Mio", "pet (imported f42e)": "Dog named Rex \x1b[31m"}),
    ],
)
def test_an_import_follows_its_options_and_undo_reverses_it(
    option: tuple[str, ...], count: int, pets: dict[str, str], memory: Command, brain: Brain, notes: Path
) -> None:
    before = contents(brain.path)
    if not option:
        shown = memory("import", str(notes), "--dry-run").out.splitlines()
        assert shown[:3] == ["Import 2 memories from notes.jsonl?", "  2 new", "  1 already there, the same"]
        assert shown[3:5] == [TAKEN, "    pet"]
    planned = memory("import", str(notes), "--dry-run", "--json", *option).json
    named = {"file": str(notes), "format": "jsonl", "new": 2, "same": 1, "taken": 1, "samples": ["pet"]}
    assert planned.items() >= {"verb": "import", "dry_run": True, "count": count, "action": None, **named}.items()
    done = memory("import", str(notes), "--yes", *option)
    assert f"✓ Imported {count} memories from notes.jsonl; `zeroclaw memory undo` reverses that." in done.out
    assert {key: text for key, text in contents(brain.path).items() if key.startswith("pet")} == pets
    again = memory("import", str(notes), "--yes", *option)
    assert (again.code, again.out.splitlines()[0]) == (0, "Nothing to import: of 4 memories in notes.jsonl")
    assert memory("undo", "--yes").code == 0
    assert contents(brain.path) == before


@pytest.mark.parametrize(
    ("name", "raw", "code", "words"),
    [
        ("x.jsonl", b'{"key": "a", "content": "A"}\n{"key": "b", "cont', 2,
         ["Line 2 is not JSON. The file seems to have been cut off there."]),
        ("x.bin", b"\x00\x01", 2, ["x.bin has no format that is known here.", "claude, openclaw, mcp"]),
        ("x.csv", None, 1, ["x.csv"]),
    ],
)  # fmt: skip
def test_an_unreadable_file_is_reported_in_one_sentence_on_import(
    memory: Command, brain: Brain, tmp_path: Path, name: str, raw: bytes | None, code: int, words: list[str]
) -> None:
    before = brain.rows()
    if raw is not None:
        (tmp_path / name).write_bytes(raw)
    done = memory("import", str(tmp_path / name), "--yes")
    assert (done.code, done.out) == (code, "")
    assert all(each in done.err for each in words)
    assert brain.rows() == before
    assert set(SOURCES) == set(FORMATS)


def test_reading_an_empty_database_names_the_verb_that_fills_it(memory: Command, empty: Path) -> None:
    """The database may have had memories before, so it is not reported as a store of 0 memories."""
    empty.touch()
    read = memory("list")
    assert (read.code, "is empty (0 bytes)" in read.err) == (3, True)
    assert "Run `zeroclaw memory store KEY TEXT` to create the tables" in read.err
    stored = memory("store", "pet", "Cat named Mio")
    assert (stored.code, "brain.db has been created." in stored.err) == (0, True)
    assert memory("list", "--json").json["total"] == 1


@pytest.mark.parametrize(("place", "backend"), [("new.db", "sqlite"), ("notes", "markdown")])
def test_the_first_store_creates_the_given_location(run: Command, tmp_path: Path, place: str, backend: str) -> None:
    options = ("memory", "--location", str(tmp_path / place), "--backend", backend)
    assert run(*options, "list").code == 3
    refused = run(*options, "store", "pet", "Cat named Mio", "--read-only")
    assert (refused.code, (tmp_path / place).exists()) == (1, False)
    stored = run(*options, "store", "pet", "Cat named Mio")
    assert (stored.code, "has been created." in stored.err) == (0, True)
    assert run(*options, "list", "--json").json["total"] == 1
    assert run(*options, "undo", "--yes").code == 0
    assert run(*options, "list", "--json").json["total"] == 0


def test_a_copy_names_its_losses_and_creates_nothing_before_yes(memory: Command, install: Path, tmp_path: Path) -> None:
    target = tmp_path / "notes"
    done = memory("copy", "--to", "markdown", "--to-location", str(target), "--dry-run")
    assert done.out.splitlines() == [
        f"Copy 8 memories to {target}?",
        f"  {target} is created first.",
        "  8 new",
        "  Markdown drops or changes: time of change (8), time of creation (8), session (3), content (2),"
        " category (1).",
        "  1 superseded memory is left out; --superseded show takes it along.",
        f"  `zeroclaw memory undo --config-dir {install} --backend markdown --location {target}` reverses that.",
    ]
    assert not target.exists()
    assert not (install / "zeroclaw-tui").exists()


def test_a_copy_is_verified_and_reported_in_its_json(memory: Command, brain: Brain, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    target = ("copy", "--to", "sqlite", "--to-location", str(new), "--yes")
    some = memory(*target, "--session", "tg_1", "--json").json
    named = {"verb": "copy", "backend": "sqlite", "location": str(new), "new": 2, "same": 0, "taken": 0, "losses": []}
    assert some.items() >= {**named, "dry_run": False, "count": 2, "verified": 2, "differs": 0, "left": 0}.items()
    assert some["from"] == {"backend": "sqlite", "location": str(brain.path)}
    assert None not in (some["action"], some["until"])
    assert set(contents(new)) == {"pet", "tz"}
    rest = memory(*target, "--superseded")
    assert rest.out.splitlines()[0] == f"✓ Copied 7 memories to {new}."
    assert rest.out.splitlines()[1] == "Verified 9 by comparing what the target stores."
    assert contents(new) == contents(brain.path)
    again = memory(*target, "--superseded")
    assert (again.code, again.out.splitlines()[0]) == (0, f"Nothing to copy of 9 memories to {new}")


@pytest.mark.parametrize(("backend", "name"), [("markdown", "notes"), ("sqlite", "new.db")])
def test_the_undo_command_printed_by_a_copy_works_for_a_lone_file(
    backend: str, name: str, run: Command, brain: Brain, tmp_path: Path
) -> None:
    lone, place = tmp_path / "lone.db", tmp_path / "place" / name
    shutil.copy(brain.path, lone)
    place.parent.mkdir()
    home = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": ""}
    target = ("--to", backend, "--to-location", str(place))
    copied = run("memory", "copy", "--location", str(lone), *target, "--yes", **home)
    command = re.search(r"`zeroclaw (.*)` reverses that", copied.out)
    assert command is not None, copied.err
    undone = run(*shlex.split(command[1]), "--yes", **home)
    assert undone.out.splitlines() == ["✓ Undid: copied from sqlite. (8 changes)"]


@pytest.mark.parametrize(("title", "content"), [("memory-rs", "User likes tea"), ("R-Mem", "Mila prefers rye bread")])
def test_importing_another_programs_store_suggests_a_copy_command_that_works(
    run: Command, tmp_path: Path, title: str, content: str
) -> None:
    home = {"HOME": str(tmp_path / "home")}
    config = tmp_path / "home" / ".zeroclaw" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('default_temperature = 0.7\n[memory]\nbackend = "sqlite"\n')
    file = FORMATS_DATA / "memory_rs.json" if title == "memory-rs" else create_milas_store(tmp_path / "rustmem.db").path
    refused = run("memory", "import", str(file), "--yes", **home)
    assert (refused.code, f"{file.name} is a store of {title}." in refused.err) == (2, True)
    command = re.search(r"`zeroclaw (memory copy .*)` copies its memories", refused.err)
    assert command is not None
    assert run(*shlex.split(command[1]), "--yes", **home).code == 0
    assert content in contents(config.parent / "workspace" / "memory" / "brain.db").values()


def test_a_snapshot_is_written_without_asking_and_undone(memory: Command, install: Path) -> None:
    file = install / "workspace" / "MEMORY_SNAPSHOT.md"
    done = memory("snapshot")
    assert (done.code, "7 core memories" in done.out) == (0, True)
    assert "### 🔑 `food_allergy`\n\nAllergic to peanuts\n" in file.read_text()
    assert file.with_suffix(".jsonl").exists()
    assert memory("undo", "--yes").code == 0
    assert not file.exists()


def test_hydrate_shows_its_plan(memory: Command, snapshot: Path) -> None:
    shown = memory("hydrate", "--dry-run")
    assert shown.code == 0
    plan = ["Import 1 memory from MEMORY_SNAPSHOT.md?", "  1 new", "  1 already there, the same", TAKEN]
    assert shown.out.splitlines()[:4] == plan
    assert "no id, session" in shown.out


def test_hydrate_creates_a_missing_store_and_undo_removes_nothing_older(
    memory: Command, snapshot: Path, empty: Path
) -> None:
    """The trash still has changes of the missing database, which had the same path."""
    assert memory("store", "old", "Stored before").code == 0
    for path in empty.parent.glob("brain.db*"):
        path.unlink()
    assert f"{empty} is created first." in memory("hydrate", "--dry-run").out
    assert not empty.exists()
    done = memory("hydrate", "--yes", "--json").json
    assert (done["makes"], done["count"]) == (f"{empty} is created first.", 3)
    assert memory("recall", "haskell", "--json").json["results"][0]["key"] == "lang"
    assert memory("health").code == 0
    assert memory("undo", "--yes").code == 0
    assert memory("list", "--json").json["total"] == 0
    assert memory("redo", "--yes").code == 0
    assert memory("get", "tea", "--json").json["content"] == "Green tea\nat four"


def test_passwords_are_masked_in_every_report_of_a_change(memory: Command) -> None:
    """Only the audit's own rules recognise `password: …` as a secret."""
    password = "correct7horse9battery"
    text = f"password: {password}"
    memory("store", "first", text, "--category", "core")
    memory("store", text, "a text of its own", "--category", text)
    memory("snapshot", "--yes")
    shown = [memory("forget", text, "--dry-run"), memory("audit", "--limit", "50")]
    shown.append(memory("audit", "--only", "too-short", "--purge", "--dry-run"))
    for key in ("first", text):
        memory("forget", key, "--yes")
        shown.append(memory("undo", "--dry-run"))
    assert [each.code for each in shown] == [0] * len(shown)
    assert not [each.out for each in shown if password in each.out]
    assert sum("••••" in each.out for each in shown) >= 3


def test_markdown_notes_are_copied_to_the_new_backend_of_the_config(run: Command, tmp_path: Path) -> None:
    config = {"ZEROCLAW_CONFIG_DIR": str(make_install(tmp_path / "new", None, backend="sqlite").config_dir)}
    assert run("memory", "store", "pet", "Cat named Mio", "--backend", "markdown", **config).code == 0
    listed = run("memory", "list", **config)
    assert (listed.code, "has Markdown notes: --backend markdown opens them." in listed.err) == (0, True)
    assert run("memory", "copy", "--backend", "markdown", "--to", "sqlite", "--yes", **config).code == 0
    assert run("memory", "get", "pet", **config).out.endswith("Cat named Mio\n")
