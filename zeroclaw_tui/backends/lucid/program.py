"""Running the lucid program: no shell, a time limit, and nothing of it left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import IO

from zeroclaw_tui.memory.errors import NotReachable
from zeroclaw_tui.memory.text import cut, mask_secrets, one_line

MOST_BYTES = 1 << 20
"""So much of what the program prints is kept; a context of 200 tokens has about a kilobyte."""

_MOST_ERROR_BYTES = 4096
_BYTES_AT_ONCE = 1 << 16
_LONGEST_TOLD = 120


@dataclass(frozen=True, slots=True)
class Answer:
    """What the program printed, how long that took, and whether it printed more than is kept."""

    text: str
    milliseconds: float
    is_cut: bool = False


async def run(command: str, arguments: Sequence[str], milliseconds: int) -> Answer:
    """The program's output once it has ended well and closed it; bytes that are no UTF-8 become U+FFFD.

    Raises NotReachable with one sentence for a program that cannot be run, fails or takes longer. Its whole process
    group is ended then, and where the await is cancelled.
    """
    began = time.perf_counter()
    try:
        async with asyncio.timeout(milliseconds / 1000):
            code, output, error = await _ended([_argument(text) for text in (command, *arguments)])
    except TimeoutError:
        raise NotReachable(f"{shown(command)} did not answer within {milliseconds} ms.") from None
    except OSError as failure:
        raise NotReachable(_not_run(command, failure)) from failure
    if code != 0:
        raise NotReachable(_failed(command, code, error))
    kept = output[:MOST_BYTES].decode("utf-8", "replace")
    return Answer(kept, (time.perf_counter() - began) * 1000, len(output) > MOST_BYTES)


def shown(text: str) -> str:
    """Text of the outside in a sentence: on one line, without secrets, not too long."""
    return cut(one_line(mask_secrets(text)), _LONGEST_TOLD)


def _argument(text: str) -> bytes:
    with suppress(UnicodeEncodeError):
        argument = os.fsencode(text)
        if b"\0" not in argument:
            return argument
    raise NotReachable("A text with a NUL or half a surrogate pair cannot be given to a program.")


async def _ended(arguments: Sequence[bytes]) -> tuple[int, bytes, bytes]:
    """The exit code, the output and the error output, each with one byte more than is kept where there is more."""
    with ExitStack() as open_ends:
        # A pipe of our own can be closed even while a grandchild that fled its group holds the other end.
        output, write_output = await _pipe(open_ends)
        error, write_error = await _pipe(open_ends)
        process = await _started(arguments, write_output, write_error)
        write_output.close()
        write_error.close()
        reading = [asyncio.ensure_future(_kept(output, MOST_BYTES + 1))]
        reading += [asyncio.ensure_future(_kept(error, _MOST_ERROR_BYTES))]
        try:
            told = await asyncio.gather(*reading)
            code = await process.wait()
        except BaseException:
            for task in reading:
                task.cancel()
            await _end(process)
            raise
    return code, told[0], told[1]


async def _started(arguments: Sequence[bytes], output: IO[bytes], error: IO[bytes]) -> Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*arguments, stdin=DEVNULL, stdout=output, stderr=error, start_new_session=True)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Cancelled while it starts, asyncio would end the program alone and leave its children behind.
        with suppress(OSError):
            await _end(await starting)
        raise


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # Waited for even when this is cancelled once more, so that none is left behind.
    await asyncio.shield(process.wait())


async def _pipe(open_ends: ExitStack) -> tuple[asyncio.StreamReader, IO[bytes]]:
    """A stream to read from, and the end to write to. Both are closed with `open_ends`."""
    reading, writing = (
        open_ends.enter_context(os.fdopen(end, mode, buffering=0))
        for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
    )
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), reading
    )
    open_ends.callback(transport.close)
    return stream, writing


async def _kept(stream: asyncio.StreamReader, most: int) -> bytes:
    """The beginning of what comes; the rest is read and dropped so that the program can end."""
    kept = bytearray()
    while more := await stream.read(_BYTES_AT_ONCE):
        kept += more[: most - len(kept)]
    return bytes(kept)


def _not_run(command: str, failure: OSError) -> str:
    if not command:
        return "The path of the lucid program is empty."
    if isinstance(failure, FileNotFoundError) and shutil.which(command) is None:
        return f"There is no file {shown(command)}." if "/" in command else f"There is no {shown(command)} on PATH."
    if os.path.isdir(command):
        return f"{shown(command)} is a folder and no program."
    if isinstance(failure, PermissionError):
        return f"{shown(command)} may not be run by this user."
    return f"{shown(command)} cannot be run: {failure.strerror or 'the system refuses it'}."


def _failed(command: str, code: int, error: bytes) -> str:
    ended = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
    said = shown(error.decode("utf-8", "replace").strip().partition("\n")[0])
    return f"{shown(command)} {ended}{f': {said}' if said else '.'}"
