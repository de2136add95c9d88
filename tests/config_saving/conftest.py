"""A folder with a config, and a way to do something as a user without rights."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.config_folder import Folder, in_child, made


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return made(tmp_path)


@pytest.fixture
def open_to_all() -> Iterator[Folder]:
    """One that every user can reach and write to."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        folder = made(Path(name))
        folder.config.parent.chmod(0o777)
        yield folder


@pytest.fixture
def as_nobody() -> Callable[[Callable[[], Any]], Any]:
    """Call something as a user who owns nothing: its answer, or the error's kind and sentence."""

    def call(work: Callable[[], Any]) -> Any:
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=in_child, args=(work, queue))
        process.start()
        answer = queue.get(timeout=60)
        process.join()
        return answer

    return call
