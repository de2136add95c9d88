"""Files of another shape: one sentence that names the line, and nothing is written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.small_store import make
from support.whole_store import everything
from transfer_world import opened

from zeroclaw_tui.curation.transfer.imports import plan_import
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.errors import UsageError

ONE = b'{"key": "a", "content": "A"}\n'
TABLE = b"key,content\r\n"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.jsonl", b"", "is empty"),
        ("x.jsonl", b"\n\n", "has no format that is known here"),
        ("x.jsonl", b'{"some": "settings"}\n', "has no format that is known here"),
        ("x.jsonl", ONE + ONE + b'{"key": "b", "con', "Line 3 is not JSON. The file seems to have been cut off there"),
        ("x.jsonl", "key".encode("utf-16"), "has no format that is known here"),
        ("x.jsonl", ONE + b'{"key": "b\\ud800", "content": ""}\n', "Line 2 is not a memory: it has half a character"),
        ("x.jsonl", b'{"zeroclaw_memories": 99}\n', "version 99"),
        ("x.csv", b"name,text\r\na,A\r\n", "has no format that is known here"),
        ("x.csv", b"key,content,key\r\n", "Line 1 does not name a key and a content, each column once"),
        ("x.csv", TABLE + b"a,A,more\r\n", "Line 2 has 3 cells where the first line names 2"),
        ("x.csv", TABLE + b'a,"A\r\nand no end', "Line 2 is not a line of a table: unexpected end of data"),
        ("x.csv", TABLE + b'a,"A"B\r\n', "Line 2 is not a line of a table"),
        ("x.csv", TABLE + b"a,\xe9\r\n", "Line 2 is not UTF-8"),
        ("x.md", b"# Notes\n", "x.md has no format that is known here"),
    ],
)
async def test_another_shape_is_one_sentence_that_names_the_line(name, data, message, tmp_path):
    here, file = make(tmp_path / "here.db", "G4", [{"key": "own"}]), tmp_path / name
    before = everything(here)
    file.write_bytes(data)
    async with opened(here) as library:
        with pytest.raises(UsageError, match=re.escape(message)) as failure:
            await plan_import(Target.of(library), file)
    assert failure.value.hint
    assert everything(here) == before


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
def test_three_hundred_megabytes_go_through_in_little_memory(tmp_path):
    """Export and import of 3,000 memories of 100 KB each: under 150 MB where 300 MB would be held."""
    source = make(tmp_path / "source.db", "G4", ({"content": f"{at} " + "words " * 17_000} for at in range(3_000)))
    target, file = make(tmp_path / "target.db", "G4", []), tmp_path / "all.jsonl"
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    script = _MEASURED.format(paths=paths, source=str(source), target=str(target), file=str(file))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert file.stat().st_size > 300_000_000
    assert int(done.stdout) < 150
    assert everything(target)["memories"] == everything(source)["memories"]
