"""Files of another shape: one sentence that names the line, and nothing is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.small_store import make
from support.whole_store import everything
from transfer_world import imported, opened

from zeroclaw_tui.curation.formats import csv_file
from zeroclaw_tui.curation.formats import source as source_module
from zeroclaw_tui.curation.transfer.imports import plan_import
from zeroclaw_tui.memory.errors import InspectorError, NotFound, UsageError

HEADER = b'{"zeroclaw_memories": 1}\n'
ONE = b'{"key": "a", "content": "A"}\n'
TABLE = b"key,content\r\n"


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("x.jsonl", b"", "is empty"),
        ("x.jsonl", b"\n\n", "has no format that is known here"),
        ("x.jsonl", b'{"some": "settings"}\n', "has no format that is known here"),
        (
            "x.jsonl",
            HEADER + ONE + b'{"key": "b", "con',
            "Line 3 is not JSON. The file seems to have been cut off there",
        ),
        ("x.jsonl", ONE + ONE, "Memory 2 repeats the key 'a' of an earlier memory"),
        ("x.jsonl", b'{"id":"1","key":"a","content":""}\n{"id":"1","key":"b","content":""}\n', "repeats the id '1'"),
        ("x.jsonl", "key".encode("utf-16"), "has no format that is known here"),
        ("x.jsonl", ONE + b'{"key": "b\\ud800", "content": ""}\n', "Line 2 is not a memory: it has half a character"),
        ("x.jsonl", b'{"zeroclaw_memories": 99}\n', "version 99"),
        ("x.csv", b"name,text\r\na,A\r\n", "has no format that is known here"),
        ("x.csv", b"key,content,key\r\n", "Line 1 names key twice"),
        ("x.csv", TABLE + b"a,A,more\r\n", "Line 2 has 3 cells where the first line names 2"),
        (
            "x.csv",
            TABLE + b'a,"A\r\nand no end',
            "Line 2 is not a line of a table: the file seems to have been cut off",
        ),
        ("x.csv", TABLE + b'a,"A"B\r\n', "Line 2 is not a line of a table"),
        ("x.csv", TABLE + b'a,"A\r\nB"\r\na,C\r\n', "Memory 2 repeats the key 'a' of an earlier memory"),
        ("x.csv", TABLE + b"a,\xe9\r\n", "Line 2 is not UTF-8"),
        ("x.md", b"# Notes\n", "x.md has no format that is known here"),
        ("x.md", "# Notes".encode("utf-16"), "x.md has no format that is known here"),
        ("x.md", b"", "x.md is empty"),
        ("x.toml", b"[project]\n", "x.toml is not JSON"),
        ("x.md", b"# ZeroClaw memories\n\n", "x.md is a Markdown export, which is for reading"),
        ("x.data", b"anything", "has no format that is known here"),
    ],
)
async def test_another_shape_is_one_sentence_that_names_the_line(
    name: str, data: bytes, told: str, tmp_path: Path
) -> None:
    here, file = make(tmp_path / "here.db", "G4", [{"key": "own"}]), tmp_path / name
    before = everything(here)
    file.write_bytes(data)
    async with opened(here) as library:
        with pytest.raises(UsageError, match=re.escape(told)) as failure:
            await plan_import(library, file)
    assert failure.value.hint
    assert everything(here) == before


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv"])
async def test_a_line_that_no_memory_could_be_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is 256 MB; a smaller one here."""
    monkeypatch.setattr(source_module, "MAX_LINE_SIZE", 5_000)
    monkeypatch.setattr(csv_file, "MAX_LINE_SIZE", 5_000)
    data = {"x.jsonl": ONE + ONE[:-4], "x.csv": TABLE + b'a,"'}[name]
    here, file = make(tmp_path / "here.db", "G4", []), tmp_path / name
    for filler in (b"x" * 20_000, b"short line\n" * 2_000):
        if filler.endswith(b"\n") and name == "x.jsonl":
            continue
        file.write_bytes(data + filler)
        async with opened(here) as library:
            with pytest.raises(UsageError, match=r"longer than|field larger"):
                await plan_import(library, file)


async def test_what_is_no_file_is_one_sentence(tmp_path: Path) -> None:
    here = make(tmp_path / "here.db", "G4", [])
    os.mkfifo(tmp_path / "pipe.csv")
    async with opened(here) as library:
        for name, kind, told in (
            ("", UsageError, "has no format that is known here"),
            ("none.csv", NotFound, "There is no file"),
            ("pipe.csv", UsageError, "is not a regular file"),
        ):
            with pytest.raises(InspectorError, match=told) as failure:
                await plan_import(library, tmp_path / name)
            assert isinstance(failure.value, kind)


async def test_a_byte_order_mark_and_other_line_ends_are_read(tmp_path: Path) -> None:
    here = make(tmp_path / "here.db", "G4", [])
    for name, data in (
        ("a.jsonl", b"\xef\xbb\xbf" + ONE.replace(b"\n", b"\r\n")),
        ("b.csv", b"\xef\xbb\xbfKEY,Content,mood\nb,B,good\n"),
    ):
        (tmp_path / name).write_bytes(data)
        assert (await imported(here, tmp_path / name)).count == 1
    async with opened(here) as library:
        assert sorted(entry.key for entry in await library.memory.list()) == ["a", "b"]
        plan = await plan_import(library, tmp_path / "b.csv")
    assert plan.notes == ("Not imported: column mood (1).",)


async def test_a_file_with_no_memories_brings_none(tmp_path: Path) -> None:
    here = make(tmp_path / "here.db", "G4", [])
    for name, data in (("a.jsonl", HEADER), ("b.csv", TABLE)):
        (tmp_path / name).write_bytes(data)
        async with opened(here) as library:
            assert (await plan_import(library, tmp_path / name)).count == 0


_MEASURED = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = {paths!r}
from transfer_world import exported, imported
async def work():
    await exported(Path({source!r}), Path({file!r}), "jsonl")
    await imported(Path({target!r}), Path({file!r}))
asyncio.run(work())
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""
"""Linux counts the peak of the process that started it into `ru_maxrss`."""


@pytest.mark.slow
def test_three_hundred_megabytes_go_through_in_little_memory(tmp_path: Path) -> None:
    """Export and import of 3,000 memories of 100 KB each: under 150 MB where 300 MB would be held."""
    source = make(tmp_path / "source.db", "G4", ({"content": f"{at} " + "words " * 17_000} for at in range(3_000)))
    target, file = make(tmp_path / "target.db", "G4", []), tmp_path / "all.jsonl"
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    script = _MEASURED.format(paths=paths, source=str(source), target=str(target), file=str(file))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert file.stat().st_size > 300_000_000
    assert int(done.stdout) < 150
    assert everything(target)["memories"] == everything(source)["memories"]
