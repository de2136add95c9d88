"""A stand-in for the `lucid` program of lucid-memory 0.6.5, which finds all that it holds, and ways to go wrong."""

from __future__ import annotations

import asyncio
import json
import os
import select
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Mode = Literal["works", "saying", "failing", "hanging"]

_PROGRAM = r"""
import json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
MEMORIES = os.path.join(HERE, "memories.jsonl")
sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
arguments = [os.fsencode(text).decode("utf-8", "surrogateescape") for text in sys.argv[1:]]
with open(os.path.join(HERE, "calls.jsonl"), "a") as file:
    file.write(json.dumps(arguments) + "\n")
command, rest = (arguments + [""])[0], arguments[1:]
text = next((text for text in rest if not text.startswith("--")), "")
if MODE == "saying":
    with open(os.path.join(HERE, "says"), "rb") as file:
        sys.stdout.buffer.write(file.read())
elif MODE == "failing":
    sys.exit("Error: the database \x1b[31mis locked\nand more")
elif not text:
    sys.exit("Usage: lucid context <task>, lucid store <content>")
elif command == "context":
    with open(MEMORIES, encoding="utf-8") as file:
        lines = ["- [%s] %s" % (memory["type"], memory["content"]) for memory in map(json.loads, file)]
    if lines:
        print("\n".join(["<lucid-context>", "Relevant context:", *lines, "</lucid-context>"]))
elif command == "store":
    with open(MEMORIES, "a", encoding="utf-8") as file:
        file.write(json.dumps({"content": text}) + "\n")
"""

# A shell is there at once, so that a short time-out is enough to see it hang.
_HANGING = """#!/bin/sh
sleep 1000 & echo $$ $! >> "${0%/*}/hanging"
wait
"""


@dataclass(frozen=True, slots=True)
class LucidProgram:
    """One stand-in, in a folder of its own, which holds what it was given and how it was called."""

    path: Path

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of every call so far, but of one that hangs."""
        return [json.loads(line) for line in self._lines("calls.jsonl")]

    @property
    def hanging(self) -> list[int]:
        """The ids of the processes that never end by themselves, once they are there."""
        return [int(number) for line in self._lines("hanging") for number in line.split()]

    @property
    def contents(self) -> list[str]:
        """What it was given to store, and what it held before."""
        return [json.loads(line)["content"] for line in self._lines("memories.jsonl")]

    def _lines(self, name: str) -> list[str]:
        file = self.path.parent / name
        return file.read_text("utf-8").splitlines() if file.exists() else []


def write_program(folder: Path, mode: Mode = "works", memories: Sequence[tuple[str, str]] = ()) -> LucidProgram:
    """An executable stand-in that holds these memories, each a type and its content."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lucid"
    python = f"#!{sys.executable} -IS\nMODE = {mode!r}\n{_PROGRAM}"
    path.write_text(_HANGING if mode == "hanging" else python, "utf-8")
    path.chmod(0o755)
    lines = [json.dumps({"type": kind, "content": content}) + "\n" for kind, content in memories]
    (folder / "memories.jsonl").write_text("".join(lines), "utf-8")
    return LucidProgram(path)


def write_saying(folder: Path, text: str) -> LucidProgram:
    """A program that prints exactly this, whatever it is asked."""
    program = write_program(folder, "saying")
    (folder / "says").write_bytes(text.encode("utf-8", "surrogateescape"))
    return program


async def until(condition: Callable[[], bool]) -> None:
    """Let others work until it holds; fails after half a minute."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - another process makes it hold
            await asyncio.sleep(0.01)


def wait_for_end(number: int) -> None:
    """Wait until a process has ended; it may have already."""
    try:
        process = os.pidfd_open(number)
    except ProcessLookupError:
        return
    try:
        ended, _, _ = select.select([process], [], [], 20)
    finally:
        os.close(process)
    assert ended, f"process {number} is left behind"
