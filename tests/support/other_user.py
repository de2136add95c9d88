"""Run a function as another user of this machine who owns nothing."""

from __future__ import annotations

import concurrent.futures.thread
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NOBODY = 65534
_LOADED = (concurrent.futures.thread,)
"""Imported first: that user may not be able to read the folder of these modules."""


def as_nobody(work: Callable[[], Any]) -> Any:
    """Return the result of a function in a process of that user, or the type and message of its error.

    When the tests run as an unprivileged user, the process runs as the same user.
    """
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_in_child, args=(work, queue))
    process.start()
    answer = queue.get(timeout=60)
    process.join()
    return answer


def _in_child(work: Callable[[], Any], queue: Any) -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        queue.put(work())
    except Exception as error:  # noqa: BLE001 - the parent gets every failure
        queue.put((type(error).__name__, str(error)))


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Yield a folder that every user can reach."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)
