"""A process that is killed while it makes vectors loses a batch at most, and another one goes on."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

from support.http_endpoints import serving

from zeroclaw_tui.curation.reindex import BATCH_SIZE, plan_reindex


def started(folder: Path) -> subprocess.Popen[bytes]:
    arguments = ["memory", "reindex", "--config-dir", str(folder), "--yes"]
    script = Path(sys.executable).parent / "zeroclaw"
    return subprocess.Popen([str(script), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


async def test_what_was_written_before_the_kill_is_there(open_store, service, database: Path) -> None:
    asked_twice, may_go_on = threading.Event(), threading.Event()

    def trouble(texts: list[str]) -> None:
        if len(service.asked) == 2:
            asked_twice.set()
            may_go_on.wait()

    service.trouble = trouble
    with serving(service) as endpoint:
        async with open_store(f"custom:{endpoint.base}"):
            pass
        child = started(database.parent.parent.parent)
        try:
            assert asked_twice.wait(60)
            os.kill(child.pid, signal.SIGKILL)
        finally:
            child.wait()
            may_go_on.set()
        async with open_store(f"custom:{endpoint.base}") as library:
            assert (await plan_reindex(library)).count == 38 - BATCH_SIZE
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
