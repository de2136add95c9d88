"""Whether the `lucid` program is there and answers."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import IO

from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.memory.errors import NOT_REACHABLE, REFUSED
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.probes.finding import Finding

_SUBJECT = "lucid"
_FALL_BACK = "without it ZeroClaw works with its own SQLite database alone"
_BYTES_AT_ONCE = 4096
_LONGEST_LINE = 65536


async def probe(answers: Answers, seconds: float) -> Finding:
    """Run `lucid version` in a process group of its own, which is ended whatever happens."""
    command = _command(answers)
    environ = dict(answers.situation.environ)
    program = shutil.which(command, path=environ.get("PATH", os.defpath))
    if program is None:
        return _not_found(command, answers)
    began = time.perf_counter()
    try:
        async with asyncio.timeout(seconds):
            line, code = await _first_line(program, environ)
    except TimeoutError:
        return _bad(
            f"{shown(command)} version did not end within {seconds:g} s.", "Run it by hand to see what it does."
        )
    except OSError as error:
        return _bad(
            f"{shown(command)} cannot be run: {error.strerror or 'the system refuses it'}.",
            "Is it a program for this machine, with #! in its first line if it is a script?",
        )
    if code != 0:
        ended = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        return _bad(f"{shown(command)} version {ended}.", "Run it by hand to see why.", REFUSED)
    milliseconds = (time.perf_counter() - began) * 1000
    told = f": {shown(line)}" if line else ""
    return Finding(
        _SUBJECT, "good", f"{shown(command)} answers in {milliseconds:.0f} ms{told}", facts=(shown(program),)
    )


def _command(answers: Answers) -> str:
    """What ZeroClaw runs: storage.lucid.binary_path (>= 0.8.4; up to 0.7.5 an answer out of the environment), else
    `lucid`."""
    return str(answers.value("storage.lucid.binary_path") or "").strip() or "lucid"


def _not_found(command: str, answers: Answers) -> Finding:
    modern = answers.situation.target.is_modern
    how = "storage.lucid.binary_path" if modern else "ZEROCLAW_LUCID_CMD"
    hint = f"Install lucid-memory, or name its program with {how}."
    if "/" not in command:
        return _bad(f"There is no program {shown(command)} on PATH.", hint)
    if not os.path.exists(command):
        return _bad(f"There is no file {shown(command)}.", hint)
    what = "is a folder" if Path(command).is_dir() else "may not be run by this user"
    return _bad(f"{shown(command)} {what}, so ZeroClaw cannot run it.", hint)


def _bad(sentence: str, hint: str, exit_code: int = NOT_REACHABLE) -> Finding:
    return Finding(_SUBJECT, "bad", sentence, (_FALL_BACK,), hint, exit_code)


async def _first_line(program: str, environ: dict[str, str]) -> tuple[str, int]:
    """The first line the program prints, and its exit code. Its whole process group is gone afterwards."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as output:
        # A pipe of our own can be closed even while a grandchild that fled its group holds the other end.
        stream, transport = await _stream_of(reading)
        try:
            process = _started(program, environ, output)
            output.close()
            return await _watched(process, stream)
        finally:
            transport.close()


def _started(program: str, environ: dict[str, str], output: IO[bytes]) -> Popen[bytes]:
    """The program in a session of its own. Nothing is awaited here: cancelled in the midst of asyncio's way of
    starting, the program alone would be ended, and its children left behind."""
    return Popen(
        [program, "version"], stdin=DEVNULL, stdout=output, stderr=DEVNULL, env=environ, start_new_session=True
    )


async def _watched(process: Popen[bytes], stream: asyncio.StreamReader) -> tuple[str, int]:
    ended = asyncio.ensure_future(asyncio.to_thread(process.wait))
    draining = None
    try:
        line = await _line_of(stream)
        # What the program still prints is thrown away so that it can end.
        draining = asyncio.ensure_future(_drain(stream))
        code = await asyncio.shield(ended)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if draining is not None:
            draining.cancel()
        # The killed process is waited for even when this is being cancelled, so that none is left behind.
        await asyncio.shield(ended)
    return line.decode("utf-8", "replace").strip(), code


async def _stream_of(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(descriptor, "rb", buffering=0)
    )
    return stream, transport


async def _line_of(stream: asyncio.StreamReader) -> bytes:
    """The first line with something in it; a program that prints nothing gives an empty one."""
    text = b""
    while len(text) < _LONGEST_LINE and b"\n" not in text.lstrip():
        more = await stream.read(_BYTES_AT_ONCE)
        if not more:
            break
        text += more
    return text.lstrip().partition(b"\n")[0]


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.read(_BYTES_AT_ONCE):
        pass
