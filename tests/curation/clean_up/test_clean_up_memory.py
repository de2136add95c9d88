"""An audit holds one content at a time, however large the contents are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import small_store

MEGABYTE = 1_000_000

SCRIPT = """
import asyncio, re, sys
from pathlib import Path
from zeroclaw_tui.curation.clean_up import check_memories
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.candidates import configs_for

async def looked_at():
    library = await open_library(configs_for(OpenOptions(path=Path(sys.argv[1])))[0])
    report = await check_memories(library)
    await library.close()
    return report

report = asyncio.run(looked_at())
found = {finding.kind: finding.count for finding in report.findings}
print(report.rows, report.size, found["recall blobs"], found["exact duplicates"])
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1))
"""


@pytest.mark.parametrize(
    ("rows", "megabytes", "most", "line"),
    [
        (6, 8, 160, "[Memory context] 🦀 recalled again and again, each time with what was recalled before\n"),
        pytest.param(21, 18, 300, "[Memory context] recalled with what came before it\n", marks=pytest.mark.slow),
        pytest.param(21, 18, 300, "[Memory context] 🦀 recalled\n", marks=pytest.mark.slow),
    ],
)
def test_rows_of_many_megabytes_are_held_one_at_a_time(
    tmp_path: Path, rows: int, megabytes: int, most: int, line: str
) -> None:
    """All but the first are the same, which is found by their hash; peak of the whole process, below what all take.

    Linux counts the peak of the process that started it into `ru_maxrss`, so that is not asked.
    """
    database = small_store.make(tmp_path / "brain.db", "G2", [])
    small_store.change(database, "DROP TRIGGER memories_ai")
    text = line * (megabytes * MEGABYTE // len(line.encode()))
    small_store.add(database, ({"content": "first" * (at == 0) + text} for at in range(rows)))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(database)],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    told, peak = done.stdout.splitlines()
    assert told == f"{rows} {5 + rows * len(text.encode())} {rows} {rows - 1}"
    assert int(peak) < most * 1024, peak
    database.unlink()
