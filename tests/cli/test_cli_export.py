"""`zeroclaw memory export`: to a file or through a pipe, in three formats."""

from __future__ import annotations

import csv
import io
import json
import stat
from collections.abc import Callable
from pathlib import Path

from support.commands import Command
from support.terminal import Terminal


def test_stdout_gets_jsonl_and_nothing_else(memory: Command) -> None:
    done = memory("export")
    assert done.code == 0
    header, *rows = [json.loads(line) for line in done.out.splitlines()]
    assert (header["zeroclaw_memories"], header["backend"], header["generation"]) == (1, "sqlite", "G2")
    assert [row["key"] for row in rows] == ["lang", "editor", "pet", "tz", "food", "food_allergy", "--json", ""]
    assert rows[2]["session_id"] == "tg_1"
    assert done.err == "zeroclaw: 1 superseded memory is left out; --superseded show takes it along.\n"
    assert memory("export", "--superseded", "show").err == ""


def test_a_terminal_sees_what_memories_contain_and_does_not_act_on_it(
    memory: Command, install: Path, script: Callable[[str], str]
) -> None:
    hostile = "before \x1b[2J\x1b]0;owned\x07 after"
    assert memory("store", "hostile", hostile).code == 0
    command = [script("zeroclaw"), "memory", "--config-dir", str(install), "export", "--format", "markdown"]
    with Terminal([*command, "--contains", "owned"], columns=100, lines=40) as screen:
        screen.wait_for("# ZeroClaw memories", "before ␛[2J␛]0;owned␇ after")
        assert screen.wait_exit() == 0
    assert hostile in memory("export", "--format", "markdown", "--contains", "owned").out


def test_the_format_of_a_file_is_known_by_its_name(memory: Command, tmp_path: Path) -> None:
    for name, start in (("x.csv", b"key,content,"), ("x.md", b"# ZeroClaw memories\n"), ("x.jsonl", b'{"zeroclaw_mem')):
        done = memory("export", str(tmp_path / name))
        assert done.code == 0
        assert done.out.startswith(f"✓ Exported 8 memories to {tmp_path / name} (")
        assert (tmp_path / name).read_bytes().startswith(start)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_a_file_of_that_name_is_only_replaced_on_request(memory: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text("mine")
    done = memory("export", str(file))
    assert (done.code, file.read_text()) == (1, "mine")
    assert "already exists.\nPass --overwrite to replace it." in done.err
    assert memory("export", str(file), "--overwrite").code == 0
    assert file.read_text() != "mine"


def test_the_notes_of_a_markdown_store_are_never_replaced_by_their_export(memory: Command, install: Path) -> None:
    for name in ("MEMORY.md", "memory/2026-11-20.md"):
        note = install / "workspace" / name
        note.write_text("- **lang**: Prefers Rust\n")
        done = memory("--backend", "markdown", "export", str(note), "--overwrite")
        assert (done.code, note.read_text()) == (1, "- **lang**: Prefers Rust\n")
        assert "belongs to the store itself" in done.err


def test_the_document_reports_file_count_size_and_what_is_lost(memory: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.data"
    message = memory("export", str(file), "--format", "csv", "--category", "core", "--json").json
    assert message["lost"][0].startswith("CSV holds Unicode text only")
    del message["lost"]
    assert message == {
        "file": str(file), "count": 6, "size": file.stat().st_size, "format": "csv", "superseded_hidden": 1,
    }  # fmt: skip
    assert len(list(csv.reader(io.StringIO(file.read_text(), newline="")))) == 7
