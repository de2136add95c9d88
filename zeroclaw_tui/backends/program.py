"""Run another program: its output, or an error with one sentence."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from subprocess import DEVNULL, PIPE

from zeroclaw_tui.memory.errors import NotReachable
from zeroclaw_tui.memory.text import cut, mask_secrets, one_line

_MAX_OUTPUT = 1_000_000
_SECONDS_TO_END = 1.0
"""How long a killed program may keep its pipes open, by another program that it has started."""


async def run_program(command: str, arguments: Sequence[str], milliseconds: int) -> str:
    """Run a program and return the first megabyte of its output; bytes that are not UTF-8 become U+FFFD.

    Raises NotReachable with one sentence if it cannot be run, fails or takes longer. Its whole process group is killed
    after a timeout, and if the task is cancelled.
    """
    name = _safe_output(command) or "A program without a name"
    try:
        async with asyncio.timeout(milliseconds / 1000):
            code, output, error = await _communicate([command, *arguments])
    except TimeoutError:
        raise NotReachable(f"{name} did not answer within {milliseconds} ms.") from None
    except ValueError:
        raise NotReachable("A text with a NUL or half a surrogate pair cannot be given to a program.") from None
    except OSError as failure:
        reason = failure.strerror or "the system refuses it"
        raise NotReachable(f"{name} cannot be run: {reason}.") from failure
    if code != 0:
        ending = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        line = _safe_output(error.decode("utf-8", "replace").strip().partition("\n")[0])
        raise NotReachable(f"{name} {ending}{f': {line}' if line else '.'}")
    return output.decode("utf-8", "replace")


def _safe_output(text: str) -> str:
    """Prepare external text for a sentence: on one line, without secrets, not too long."""
    return cut(one_line(mask_secrets(text)), 120)


async def _communicate(command: Sequence[str]) -> tuple[int, bytes, bytes]:
    """Return exit code, stdout and stderr of a program; if cancelled, kill its process group."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True)
    )
    try:
        process = await asyncio.shield(starting)
        output, error = await _read(process)
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            process = await starting
            os.killpg(process.pid, signal.SIGKILL)
            with suppress(TimeoutError):
                async with asyncio.timeout(_SECONDS_TO_END):
                    # `wait` alone waits for ever if a pipe is full.
                    await _read(process)
        raise
    return process.returncode or 0, output, error


async def _read(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    """Read stdout and stderr of a program to their ends, and wait for its end; return the first megabyte of each."""

    async def read(stream: asyncio.StreamReader | None) -> bytes:
        assert stream is not None, "both are pipes"
        data = bytearray()
        while chunk := await stream.read(_MAX_OUTPUT):
            data += chunk[: _MAX_OUTPUT - len(data)]
        return bytes(data)

    output, error, _ = await asyncio.gather(read(process.stdout), read(process.stderr), process.wait())
    return output, error
