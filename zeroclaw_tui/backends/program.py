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


async def run_program(command: str, arguments: Sequence[str], milliseconds: int) -> str:
    """Run a program and return its output; bytes that are not UTF-8 become U+FFFD.

    Raises NotReachable with one sentence if it cannot be run, fails or takes longer. Its whole process group is killed
    after a timeout, and if the task is cancelled.
    """
    try:
        async with asyncio.timeout(milliseconds / 1000):
            code, output, error = await _communicate([command, *arguments])
    except TimeoutError:
        raise NotReachable(f"{_safe_output(command)} did not answer within {milliseconds} ms.") from None
    except ValueError:
        raise NotReachable("A text with a NUL or half a surrogate pair cannot be given to a program.") from None
    except OSError as failure:
        reason = failure.strerror or "the system refuses it"
        raise NotReachable(f"{_safe_output(command)} cannot be run: {reason}.") from failure
    if code != 0:
        ending = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        line = _safe_output(error.decode("utf-8", "replace").strip().partition("\n")[0])
        raise NotReachable(f"{_safe_output(command)} {ending}{f': {line}' if line else '.'}")
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
        output, error = await process.communicate()
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            process = await starting
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        raise
    return process.returncode or 0, output, error
