"""Running another program: its output, or one sentence on why there is none."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from subprocess import DEVNULL, PIPE

from zeroclaw_tui.memory.errors import NotReachable
from zeroclaw_tui.memory.text import cut, mask_secrets, one_line


async def run_program(command: str, arguments: Sequence[str], milliseconds: int) -> str:
    """Run a program and return its output; bytes that are not UTF-8 become U+FFFD.

    Raises NotReachable with one sentence if it cannot be run, fails or takes longer. Its whole process group is ended
    then, and also if the task is cancelled.
    """
    try:
        async with asyncio.timeout(milliseconds / 1000):
            code, output, error = await _communicate([command, *arguments])
    except TimeoutError:
        raise NotReachable(f"{safe_output(command)} did not answer within {milliseconds} ms.") from None
    except ValueError:
        raise NotReachable("A text with a NUL or half a surrogate pair cannot be given to a program.") from None
    except OSError as failure:
        reason = failure.strerror or "the system refuses it"
        raise NotReachable(f"{safe_output(command)} cannot be run: {reason}.") from failure
    if code != 0:
        ending = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        line = safe_output(error.decode("utf-8", "replace").strip().partition("\n")[0])
        raise NotReachable(f"{safe_output(command)} {ending}{f': {line}' if line else '.'}")
    return output.decode("utf-8", "replace")


def safe_output(text: str) -> str:
    """Text from outside in a sentence: on one line, without secrets, not too long."""
    return cut(one_line(mask_secrets(text)), 120)


class _Output(asyncio.SubprocessProtocol):
    """What a program writes; `is_complete` is set when it has ended and closed its output."""

    def __init__(self) -> None:
        self.by_descriptor = {1: b"", 2: b""}
        self.is_complete = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.by_descriptor[fd] += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_complete.set()


async def _communicate(command: Sequence[str]) -> tuple[int, bytes, bytes]:
    """Give the exit code, the output and the error output of a program."""
    loop = asyncio.get_running_loop()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(_Output, *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True)
    )
    try:
        transport, output = await asyncio.shield(starting)
        await output.is_complete.wait()
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            transport, output = await starting
            with suppress(ProcessLookupError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
            # A child that left the group may hold the pipes for longer than the event loop runs.
            transport.close()
            await output.is_complete.wait()
        raise
    return transport.get_returncode() or 0, output.by_descriptor[1], output.by_descriptor[2]
