"""The last 50 turns of a long trace: how long they take, and how much memory.

python tests/bench/trace.py [MEGABYTES]
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.traces import NOW, RecordingInstall, Sent, call_line, inbound_line, tool_line

from zeroclaw_tui.curation.turns.recording import recorded

BLOCK = "[Memory context]\n- lang: Prefers Rust\n[/Memory context]\n\n"
SHOWN = 50
ROUNDS = 5
PAYLOAD = 20_000
"""Characters of a usual system prompt."""


def write_trace(install: RecordingInstall, megabytes: int) -> int:
    """Turns of two calls each, with other lines between them; how many."""
    written = turns = 0
    with install.trace.open("w", encoding="utf-8") as file:
        while written < megabytes * 1_000_000:
            at = NOW + timedelta(seconds=turns)
            sent = Sent(
                "Which language? ", BLOCK, at=at, channel="telegram.main", sender="ann", target="1", id=f"{turns}"
            )
            lines = [inbound_line(sent), call_line(sent), tool_line(["lang"], at=at)]
            lines.append(call_line(replace(sent, iteration=2)))
            padded = [line.replace("You are helpful.", "You are helpful. " * (PAYLOAD // 17)) for line in lines]
            lines = [*padded, *(['{"@timestamp":"2026-12-01T12:00:00.000Z","message":"note"}'] * 10)]
            file.writelines(line + "\n" for line in lines)
            written += sum(map(len, lines)) + len(lines)
            turns += 1
    return turns


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        install = RecordingInstall(Path(folder))
        turns = write_trace(install, megabytes)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for most in (SHOWN, None):
            seconds = []
            for _ in range(ROUNDS):
                started = time.perf_counter()
                found = asyncio.run(recorded(install.library(), most=most)).turns
                seconds.append(time.perf_counter() - started)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            what = f"last {SHOWN}" if most else f"all {len(found):,}"
            took = sorted(seconds)[ROUNDS // 2] * 1000
            print(f"{megabytes} MB, {turns:,} turns: {what} in {took:.0f} ms, {grown:.0f} MB more")


if __name__ == "__main__":
    main()
