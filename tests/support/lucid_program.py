"""A stand-in for the `lucid` program of lucid-memory 0.6.5 that finds all its memories, and variants that fail."""

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

# A shell starts at once, so a short time-out is enough to see it hang.
_HANGING = """#!/bin/sh
sleep 1000 & echo $$ $! >> "${0%/*}/hanging"
wait
"""


@dataclass(frozen=True, slots=True)
class LucidProgram:
    """One stand-in with its own folder, which records its memories and its calls."""

    path: Path

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of every call so far, except those of a call that hangs."""
        return [json.loads(line) for line in self._lines("calls.jsonl")]

    @property
    def hanging(self) -> list[int]:
        """Return the ids of the hanging processes, once they have started."""
        return [int(number) for line in self._lines("hanging") for number in line.split()]

    @property
    def contents(self) -> list[str]:
        """The contents it stored, and those it began with."""
        return [json.loads(line)["content"] for line in self._lines("memories.jsonl")]

    def _lines(self, name: str) -> list[str]:
        file = self.path.parent / name
        return file.read_text("utf-8").splitlines() if file.exists() else []


def write_program(folder: Path, mode: Mode = "works", memories: Sequence[tuple[str, str]] = ()) -> LucidProgram:
    """Write an executable stand-in with these memories, each a type and a content."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lucid"
    python = f"#!{sys.executable} -IS\nMODE = {mode!r}\n{_PROGRAM}"
    path.write_text(_HANGING if mode == "hanging" else python, "utf-8")
    path.chmod(0o755)
    lines = [json.dumps({"type": kind, "content": content}) + "\n" for kind, content in memories]
    (folder / "memories.jsonl").write_text("".join(lines), "utf-8")
    return LucidProgram(path)


def write_saying(folder: Path, text: str) -> LucidProgram:
    """Write a program that prints exactly this text, whatever its arguments."""
    program = write_program(folder, "saying")
    (folder / "says").write_bytes(text.encode("utf-8", "surrogateescape"))
    return program


async def until(condition: Callable[[], bool]) -> None:
    """Yield to other tasks until the condition is true; fail after half a minute."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - another process makes it true
            await asyncio.sleep(0.01)


def wait_for_end(number: int) -> None:
    """Wait until a process has ended."""
    try:
        process = os.pidfd_open(number)
    except ProcessLookupError:
        return
    try:
        ended, _, _ = select.select([process], [], [], 20)
    finally:
        os.close(process)
    assert ended, f"process {number} is still running"
