"""A stand-in for the `lucid` program of lucid-memory 0.6.5: its command line to the letter, and ways to go wrong."""

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

_PROGRAM = r'''
import json, os, sys
HERE = os.path.dirname(os.path.abspath(__file__))
MODE = MODE_GIVEN
MEMORIES = os.path.join(HERE, "memories.jsonl")


def flags(rest):
    """--name=value only; a value ends at its next "="."""
    return {name[2:]: (parts + [""])[0] for name, *parts in (text.split("=") for text in rest if text.startswith("--"))}


def first(rest):
    return next((text for text in rest if not text.startswith("--")), "")


def held():
    try:
        with open(MEMORIES, encoding="utf-8", errors="surrogateescape") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def context(rest):
    task, given = first(rest), flags(rest)
    if not task:
        print("Usage: lucid context <task> [--project=<path>] [--budget=<tokens>]", file=sys.stderr)
        return 1
    budget = int(given.get("budget", "200"))
    words = set(task.lower().split())
    lines, tokens = [], 0
    for memory in held():
        shown = memory["gist"] or memory["content"][:150]
        tokens += len(shown) // 4
        if words & set(memory["content"].lower().replace(":", " ").split()) and tokens <= budget:
            lines.append("- [%s] %s" % (memory["type"], shown))
    if not lines:
        return 0
    visual = sum(line.startswith("- [Visual") for line in lines)
    print("<lucid-context>")
    print("Relevant context (%d text, %d visual, ~%d tokens):" % (len(lines) - visual, visual, tokens))
    print("\n".join(lines))
    print("</lucid-context>")
    return 0


def store(rest):
    content, given = first(rest), flags(rest)
    if not content:
        print("Usage: lucid store <content> [--type=<type>] [--project=<path>]", file=sys.stderr)
        return 1
    kept = {"type": given.get("type") or "learning", "content": content, "gist": ""}
    with open(MEMORIES, "a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(json.dumps(kept) + "\n")
    print(json.dumps({"success": True, "id": "stand-in-%d" % len(held())}, separators=(",", ":")))
    return 0


def main():
    arguments = [os.fsencode(text).decode("utf-8", "surrogateescape") for text in sys.argv[1:]]
    with open(os.path.join(HERE, "calls.jsonl"), "a") as file:
        file.write(json.dumps(arguments) + "\n")
    if MODE == "saying":
        with open(os.path.join(HERE, "says"), "rb") as file:
            sys.stdout.buffer.write(file.read())
        return 0
    if MODE == "failing":
        print("Error: the database \x1b[31mis locked\nand more", file=sys.stderr)
        return 1
    command, rest = (arguments + [""])[0], arguments[1:]
    if command == "context":
        return context(rest)
    if command == "store":
        return store(rest)
    print("0.6.5" if command == "version" else "lucid <context|store|stats|status|config|backup|version|update>")
    return 0


sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
try:
    code = main()
except Exception as error:
    print("Error: %s" % error, file=sys.stderr)
    code = 1
sys.exit(code)
'''

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


def write_program(
    folder: Path, mode: Mode = "works", memories: Sequence[tuple[str, str]] = (), name: str = "lucid"
) -> LucidProgram:
    """An executable stand-in that holds these memories, each a type and its content."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    python = f"#!{sys.executable} -IS\n{_PROGRAM.replace('MODE_GIVEN', repr(mode))}"
    path.write_text(_HANGING if mode == "hanging" else python, "utf-8")
    path.chmod(0o755)
    lines = [json.dumps({"type": kind, "content": content, "gist": ""}) + "\n" for kind, content in memories]
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
