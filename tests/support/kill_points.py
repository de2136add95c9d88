"""Run a function in a child of this process and kill it before its n-th system call (Linux, ptrace(2)).

The child must be forked while this process has one thread, so this is for scripts, not for a test runner's process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass

_TRACE_ME, _CONTINUE_TO_CALL, _SET_OPTIONS = 0, 24, 0x4200
_MARK_CALLS, _FOLLOW_CLONES, _END_WITH_TRACER = 0x1, 0x8, 0x100000
_CALL_STOP = signal.SIGTRAP | 0x80
_EVERY_CHILD = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


@dataclass(frozen=True)
class Run:
    """How a run ended: `calls` system calls were begun between the two marks; `code` is None when it was killed."""

    calls: int
    code: int | None

    @property
    def was_killed(self) -> bool:
        return self.code is None


def mark() -> None:
    """Called by the child: counting begins at the first call of this, and ends at the second."""
    os.kill(os.getpid(), signal.SIGUSR1)


def run(work: Callable[[], None], kill_before: int | None = None) -> Run:
    """Run `work` in a child; with `kill_before` it gets SIGKILL when it is about to make that call, counted from 1."""
    child = os.fork()
    if child == 0:
        _be_traced(work)
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        raise RuntimeError("the child did not stop for its tracer")
    _ptrace(_SET_OPTIONS, child, _MARK_CALLS | _FOLLOW_CLONES | _END_WITH_TRACER)
    _ptrace(_CONTINUE_TO_CALL, child)
    return _follow(child, kill_before)


def _be_traced(work: Callable[[], None]) -> None:
    code = 1
    try:
        _ptrace(_TRACE_ME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - a forked child must never return into its parent's code
        traceback.print_exc()
    finally:
        os._exit(code)


def _follow(child: int, kill_before: int | None) -> Run:
    calls = marks = 0
    inside: set[int] = set()
    while True:
        task, status = os.waitpid(-1, _EVERY_CHILD)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if task == child:
                return Run(calls, os.WEXITSTATUS(status) if os.WIFEXITED(status) else None)
            continue
        stopped, passed_on = os.WSTOPSIG(status), 0
        if stopped == _CALL_STOP:
            if task in inside:
                inside.discard(task)
            else:
                inside.add(task)
                calls += marks == 1
                if marks == 1 and calls == kill_before:
                    os.kill(child, signal.SIGKILL)
                    continue
        elif stopped == signal.SIGUSR1:
            marks += 1
        elif stopped not in (signal.SIGTRAP, signal.SIGSTOP):
            passed_on = stopped
        _ptrace(_CONTINUE_TO_CALL, task, passed_on)


def _ptrace(request: int, task: int, data: int = 0) -> None:
    if _libc.ptrace(request, task, None, data) != 0:
        number = ctypes.get_errno()
        # A thread may be gone by the time it is told to go on.
        if number != 3:
            raise OSError(number, os.strerror(number))
