"""What can go wrong, each as one sentence, what to do next, and an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DONE = 0
REFUSED = 1
WRONG_USE = 2
NOT_REACHABLE = 3
INTERRUPTED = 130

MAKES_STORE = "`zeroclaw memory store KEY TEXT` creates it now."
"""What fills a store that is not there yet."""
ASKED_READ_ONLY = "The store was opened read-only."
"""Why a store takes no changes that --read-only was given for."""


class InspectorError(Exception):
    """A failure a person can act on: `message` is one sentence, `hint` what to do next, `title` two or three words."""

    title = "Something went wrong"
    exit_code = REFUSED
    so_far = ""
    """A sentence that `hint` holds: what a change had done before it failed."""
    is_unsure = False
    """Whether nobody could tell, so that nothing may be taken for done or not done before it is looked at again."""
    details: Mapping[str, Any] = {}
    """What a program needs besides the words, by its names in the document of the error."""

    def __init__(self, message: str, *, hint: str = "", title: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if title:
            self.title = title

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def add_progress(self, sentence: str) -> None:
        """Say what was done before it failed, in place of what was said of that until now."""
        self.hint = f"{self.hint.replace(self.so_far, '', 1).strip()} {sentence}".strip()
        self.so_far = sentence


class NotFound(InspectorError):
    """A key or an id that no memory has."""

    title = "Not there"


class Refused(InspectorError):
    """Something this store or mode does not do."""

    title = "Refused"


class DriverMissing(Refused):
    """A library that is not installed; the hint says what brings it."""

    title = "Driver missing"


class UsageError(InspectorError):
    """Options that do not fit together, or a value that cannot be read."""

    title = "Wrong use"
    exit_code = WRONG_USE


class BrokenConfig(InspectorError):
    """A config.toml that cannot be read as TOML."""

    title = "Broken config"
    exit_code = WRONG_USE


class NoInstall(InspectorError):
    """No ZeroClaw install in any place it could be."""

    title = "No install found"
    exit_code = NOT_REACHABLE


class Unreadable(InspectorError):
    """A store that is missing, empty, not readable, or not what its name says."""

    title = "Cannot be opened"
    exit_code = NOT_REACHABLE


class NothingYet(Unreadable):
    """A store that is not there yet and that ZeroClaw makes at its first start; `Memory.make` makes it too."""

    title = "Nothing there yet"


class BeforeFirstStart(NothingYet):
    """The own store of an install that has a config and was never started: it has 0 memories, and nothing is wrong."""

    title = "No memories yet"


class NotReachable(InspectorError):
    """A server that cannot be reached, does not let in, or closed the connection."""

    title = "Not reachable"
    exit_code = NOT_REACHABLE


class DiskFull(Unreadable):
    """No room on the disk for what had to be written."""

    title = "Disk full"


class Corrupt(Unreadable):
    """A database file with damaged pages."""

    title = "Damaged database"


class Locked(InspectorError):
    """A store another program holds for longer than the time-out."""

    title = "Locked"
    exit_code = NOT_REACHABLE


class EmbeddingFailed(InspectorError):
    """The query's vector could not be had; keyword search still works."""

    title = "No vector"
    exit_code = NOT_REACHABLE


class SearchInterrupted(Exception):
    """A search that a newer one replaced; no message is shown."""
