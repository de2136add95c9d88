"""The errors of the program, each with a sentence, a hint and an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DONE = 0
REFUSED = 1
WRONG_USE = 2
NOT_REACHABLE = 3
INTERRUPTED = 130

MAKES_STORE = "`zeroclaw memory store KEY TEXT` creates it now."
"""The hint for a store that does not exist yet."""
ASKED_READ_ONLY = "The store was opened read-only."
"""The reason why a store opened with --read-only cannot be changed."""


class InspectorError(Exception):
    """A failure the user can act on: `message` is one sentence, `hint` what to do next, `title` two or three words."""

    title = "Something went wrong"
    exit_code = REFUSED
    so_far = ""
    """The sentence in `hint` about what a change had done before it failed."""
    is_unsure = False
    """Whether it is unknown if the change was made, so that the store has to be read again."""
    details: Mapping[str, Any] = {}
    """Additional fields for the JSON of the error."""

    def __init__(self, message: str, *, hint: str = "", title: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if title:
            self.title = title

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def add_progress(self, sentence: str) -> None:
        """Set the sentence about what was done before it failed, replacing the previous one."""
        self.hint = f"{self.hint.replace(self.so_far, '', 1).strip()} {sentence}".strip()
        self.so_far = sentence


class NotFound(InspectorError):
    """A key or an id that no memory has."""

    title = "Not there"


class Refused(InspectorError):
    """An operation that this store or mode does not support."""

    title = "Refused"


class DriverMissing(Refused):
    """A library that is not installed; the hint says how to install it."""

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
    """No ZeroClaw install in any of the searched places."""

    title = "No install found"
    exit_code = NOT_REACHABLE


class Unreadable(InspectorError):
    """A store that is missing, empty, not readable, or not what its name says."""

    title = "Cannot be opened"
    exit_code = NOT_REACHABLE


class NothingYet(Unreadable):
    """A store that does not exist yet and that ZeroClaw creates at its first start; `Memory.make` creates it too."""

    title = "Nothing there yet"


class BeforeFirstStart(NothingYet):
    """The missing store of an install that has a config and was never started, which is not a problem."""

    title = "No memories yet"


class NotReachable(InspectorError):
    """A server that cannot be reached, denies access, or closed the connection."""

    title = "Not reachable"
    exit_code = NOT_REACHABLE


class DiskFull(Unreadable):
    """No room on the disk for a write."""

    title = "Disk full"


class Corrupt(Unreadable):
    """A database file with damaged pages."""

    title = "Damaged database"


class Locked(InspectorError):
    """A store that another program locked for longer than the timeout."""

    title = "Locked"
    exit_code = NOT_REACHABLE


class EmbeddingFailed(InspectorError):
    """The query could not be embedded; keyword search still works."""

    title = "No vector"
    exit_code = NOT_REACHABLE


class SearchInterrupted(Exception):
    """A search that was replaced by a newer one; no message is shown."""
