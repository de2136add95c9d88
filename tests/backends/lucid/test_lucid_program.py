"""Run the program: exact arguments, one sentence for each failure, no process or file left behind."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from support.lucid_program import LucidProgram, until, wait_for_end, write_program
from support.memories import NotReachable

from zeroclaw_tui.backends.program import run_program

PATIENT = 60_000


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


async def failure_of(command: object, *arguments: str, milliseconds: int = PATIENT) -> str:
    with pytest.raises(NotReachable) as failure:
        await run_program(str(command), arguments, milliseconds)
    assert "\n" not in failure.value.message
    return failure.value.message


async def hanging(program: LucidProgram, count: int) -> list[int]:
    await until(lambda: len(program.hanging) == count)
    return program.hanging


async def test_a_failing_program_is_reported_in_one_clean_line(tmp_path):
    """The message has the exit code and the first line of stderr, without escape sequences."""
    program = write_program(tmp_path, "failing")
    message = await failure_of(program.path, "context", "tea")
    assert message.endswith("/lucid ended with exit code 1: Error: the database ␛[31mis locked")


async def test_a_hanging_program_is_killed_with_its_children(tmp_path):
    """After the time-out none of its processes runs."""
    program = write_program(tmp_path, "hanging")
    running = asyncio.ensure_future(failure_of(program.path, "context", "tea", milliseconds=1200))
    numbers = await hanging(program, 2)
    assert (await running).endswith("lucid did not answer within 1200 ms.")
    for number in numbers:
        wait_for_end(number)


async def test_a_program_that_never_stops_printing_is_killed(tmp_path):
    program = script(tmp_path / "lucid", "#!/bin/sh\nyes\n")
    assert (await failure_of(program, milliseconds=300)).endswith("lucid did not answer within 300 ms.")


async def test_only_the_first_megabyte_of_an_output_is_read(tmp_path):
    program = script(tmp_path / "lucid", "#!/bin/sh\nyes | head -c 3000000\n")
    assert len(await run_program(str(program), (), PATIENT)) == 1_000_000


async def test_a_cancelled_call_leaves_no_process_or_open_file(tmp_path):
    """The program and its children end, and no file of this process stays open."""
    program = write_program(tmp_path, "hanging")
    before = set(os.listdir("/proc/self/fd"))
    running = asyncio.ensure_future(run_program(str(program.path), ["context", "tea"], PATIENT))
    numbers = await hanging(program, 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    for number in numbers:
        wait_for_end(number)
    await until(lambda: len(os.listdir("/proc/self/fd")) <= len(before))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("no-such-program-at-all", "no-such-program-at-all cannot be run: No such file or directory."),
        ("/no/such/file", "/no/such/file cannot be run: No such file or directory."),
        ("", "A program without a name cannot be run: Permission denied."),
    ],
)
async def test_a_missing_program_is_named(command, sentence):
    """One sentence names the program."""
    assert await failure_of(command) == sentence


@pytest.mark.parametrize("query", ["a\x00b", "half \ud800 a pair"])
async def test_a_text_that_cannot_be_an_argument_is_refused(tmp_path, query):
    """The text is refused before anything runs."""
    program = write_program(tmp_path)
    assert "cannot be given to a program" in await failure_of(program.path, "context", query)
    assert program.calls == []


async def test_secrets_on_stderr_are_masked(tmp_path):
    """A key printed by the program is not shown."""
    program = script(tmp_path / "lucid", "#!/bin/sh\necho key sk-abcdefghijklmnopqrstuvwxyz >&2; exit 3\n")
    message = await failure_of(program)
    assert "abcdefghijklmnop" not in message
    assert "exit code 3: key sk-" in message
