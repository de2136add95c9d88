"""Run a function in a child process and kill it, or fail a call, at the n-th system call (Linux, ptrace(2)).

On x86_64 only the calls that can change a disk count: a kill between two of them leaves the same files.
The child must be forked while this process has one thread, so use this in scripts, not in a test runner's process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass

_TRACE_ME, _CONTINUE_TO_CALL, _SET_OPTIONS = 0, 24, 0x4200
_MARK_CALLS, _FOLLOW_CLONES, _END_WITH_TRACER = 0x1, 0x8, 0x100000
_CALL_STOP = signal.SIGTRAP | 0x80
_EVERY_CHILD = 0x40000000
_PEEK, _POKE = 3, 6
# Offsets of registers in x86_64's `struct user` (sys/user.h): result, number of the call, first three arguments.
_RESULT, _NUMBER, _VALUES = 10 * 8, 15 * 8, (14 * 8, 13 * 8, 12 * 8)
_WRITES = {1, 18, 20, 296}
_MAKES = {82, 83, 86, 88, 258, 264, 265, 266, 285, 316}
_OPENS = {2: 1, 257: 2}
_SYNCS = {74, 75}
# msync, truncate, ftruncate, rmdir, unlink, chmod, chown and their kin.
_REMOVES_OR_SETS = {26, 76, 77, 84, 87, 90, 91, 92, 93, 94, 260, 263, 268, 280}
_BIG = 1 << 64

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


@dataclass(frozen=True)
class Failing:
    """Fail calls from the n-th on, counted from 1, that need disk space (ENOSPC) or sync (EIO).

    Without `lasts` only the n-th fails. Only calls of one kind count, given by `number`; x86_64 only.
    """

    first: int
    number: int = errno.ENOSPC
    lasts: bool = True

    def counts_call(self, task: int) -> bool:
        """Whether a task is about to make a counted call."""
        call = _peek(task, _NUMBER)
        return call in _SYNCS if self.number != errno.ENOSPC else _needs_disk_space(task, call)

    def fails_call(self, call: int) -> bool:
        """Whether the counted call with this number must fail."""
        return call == self.first or (self.lasts and call > self.first)


def can_fail() -> bool:
    """Whether calls can be made to fail on this machine."""
    return platform.machine() == "x86_64"


@dataclass(frozen=True)
class Run:
    """How a run ended: `calls` is the number of system calls between the two marks; `code` is None after a kill."""

    calls: int
    code: int | None

    @property
    def was_killed(self) -> bool:
        return self.code is None


def mark() -> None:
    """Called by the child: the first call starts the counting, the second ends it."""
    os.kill(os.getpid(), signal.SIGUSR1)


def run(work: Callable[[], None], kill_before: int | None = None, failing: Failing | None = None) -> Run:
    """Run `work` in a child; with `kill_before`, send SIGKILL before its n-th change of a disk.

    With `failing`, only the calls that it selects count, and some of them fail.
    """
    child = os.fork()
    if child == 0:
        _be_traced(work)
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        raise RuntimeError("the child did not stop for its tracer")
    _ptrace(_SET_OPTIONS, child, _MARK_CALLS | _FOLLOW_CLONES | _END_WITH_TRACER)
    _ptrace(_CONTINUE_TO_CALL, child)
    return _follow(child, kill_before, failing)


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


def _follow(child: int, kill_before: int | None, failing: Failing | None) -> Run:
    calls = marks = 0
    inside: set[int] = set()
    failed: set[int] = set()
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
                if failing is not None and task in failed:
                    failed.discard(task)
                    _ptrace(_POKE, task, -failing.number % _BIG, _RESULT)
            else:
                inside.add(task)
                counts = marks == 1 and (_changes_disk(task) if failing is None else failing.counts_call(task))
                calls += counts
                if counts and calls == kill_before:
                    os.kill(child, signal.SIGKILL)
                    continue
                if counts and failing is not None and failing.fails_call(calls):
                    # No system has a call with this number; its result is set when it returns.
                    _ptrace(_POKE, task, _BIG - 1, _NUMBER)
                    failed.add(task)
        elif stopped == signal.SIGUSR1:
            marks += 1
        elif stopped not in (signal.SIGTRAP, signal.SIGSTOP):
            passed_on = stopped
        _ptrace(_CONTINUE_TO_CALL, task, passed_on)


def _changes_disk(task: int) -> bool:
    """Whether a task is about to make a call that can change a disk; True for any call where this is unknown."""
    if not can_fail():
        return True
    call = _peek(task, _NUMBER)
    return call in _SYNCS or call in _REMOVES_OR_SETS or _needs_disk_space(task, call)


def _needs_disk_space(task: int, call: int) -> bool:
    """Whether a call creates a file, a folder or a link, or writes to a file."""
    if call in _OPENS:
        at = _OPENS[call]
        return bool(_peek(task, _VALUES[at]) & os.O_CREAT) and not _exists(task, _peek(task, _VALUES[at - 1]))
    return call in _MAKES or (call in _WRITES and _is_file(task, _peek(task, _VALUES[0])))


def _is_file(task: int, descriptor: int) -> bool:
    """Whether the descriptor is a file on a disk, not the child's output."""
    if descriptor in (1, 2):
        return False
    try:
        return os.readlink(f"/proc/{task}/fd/{descriptor}").startswith("/")
    except OSError:
        return False


def _exists(task: int, address: int) -> bool:
    """Whether the file named at an address of a task exists; a relative name counts as new."""
    with open(f"/proc/{task}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        name = memory.read(256).partition(b"\0")[0]
    return name.startswith(b"/") and os.path.lexists(name)


def _peek(task: int, register: int) -> int:
    return int(_libc.ptrace(_PEEK, task, register, None)) % _BIG


def _ptrace(request: int, task: int, data: int = 0, address: int = 0) -> None:
    if _libc.ptrace(request, task, address, data) != 0:
        number = ctypes.get_errno()
        # A thread may have ended before it is continued.
        if number != 3:
            raise OSError(number, os.strerror(number))
