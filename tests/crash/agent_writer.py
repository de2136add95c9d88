"""A program that writes like an agent: one connection, upserts, a hundred rows per second, SQLite's default time-out.

    python agent_writer.py DATABASE

Prints one line for each committed write: `row KEY CONTENT` or `count`. Prints `done` and exits at the end of its
input; exits at once on an error of SQLite.
"""

from __future__ import annotations

import itertools
import select
import sqlite3
import sys
import time

SECONDS_A_ROW = 0.01
UPSERT = """
INSERT INTO memories (id, key, content, category, created_at, updated_at, agent_id) VALUES (?, ?, ?, 'daily', ?, ?, ?)
ON CONFLICT(agent_id, key) DO UPDATE SET content = excluded.content, updated_at = excluded.updated_at, embedding = NULL
"""
COUNT = """
UPDATE memories SET content = CAST(CAST(content AS INTEGER) + 1 AS TEXT), updated_at = ? WHERE key = 'shared-counter'
"""


def now() -> str:
    nanoseconds = time.time_ns()
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(nanoseconds // 10**9))
    return f"{seconds}.{nanoseconds % 10**9:09d}+00:00"


def main() -> None:
    connection = sqlite3.connect(sys.argv[1], timeout=5, isolation_level=None)
    connection.execute("PRAGMA synchronous = NORMAL")
    (agent,) = connection.execute("SELECT id FROM agents").fetchone()
    due = time.monotonic()
    for at in itertools.count():
        if select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
            break
        due += SECONDS_A_ROW
        if at % 10 == 0:
            connection.execute(COUNT, (now(),))
            print("count", flush=True)
            continue
        key, moment = f"agent-{at % 700}", now()
        connection.execute(UPSERT, (f"agent-id-{at}", key, f"round {at}", moment, moment, agent))
        print(f"row {key} round {at}", flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main()
