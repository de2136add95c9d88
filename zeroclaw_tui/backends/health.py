"""The results of health checks, start checks and retention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import RowVersion
    from zeroclaw_tui.memory.errors import InspectorError


@dataclass(frozen=True, slots=True)
class ContentRevision:
    """One change in a store's own history: its name there, the text before and after, and the time."""

    action: str
    old: str | None
    new: str | None
    at: str

    def as_json(self) -> dict[str, Any]:
        """The change as the commands print it."""
        return {"action": self.action, "old": self.old, "new": self.new, "at": self.at}


Repair = Literal["rebuild keyword index", "repair hydrated database", "fold in write-ahead log"]


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a store: `findings` are sentences, worst first; `facts` are names and values in display order."""

    ok: bool
    summary: str
    findings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StartCheck:
    """Whether ZeroClaw can start with a store: a short `summary` ("connects in 12 ms"), and more details in `facts`.

    `problem` is the error that ZeroClaw would have, None if there is none.
    """

    summary: str
    facts: tuple[str, ...] = ()
    problem: InspectorError | None = None
    corrections: Mapping[str, Any] = field(default_factory=dict)
    """Settings that are wrong for this store, with the right values ({"memory.embedding_dimensions": 768})."""


MAX_FAULTS = 10


@dataclass(frozen=True, slots=True)
class Pages:
    """The result of a check of every page. `faults` are the database's own messages, at most MAX_FAULTS.

    `index_in_step` tells whether the keyword index has exactly the words of the memories; None without an index.
    """

    faults: tuple[str, ...]
    index_in_step: bool | None


@dataclass(frozen=True, slots=True)
class Budget:
    """The maximum number of rows, and of characters in contents, of a category; 0 means no limit."""

    rows: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Retention:
    """Retention rules: RFC 3339 `cutoffs` and `budgets` by category, each in the order of application.

    The age of a core row counts from its creation, of others from the last change. `spares_pinned` is the behaviour
    of ZeroClaw >= 0.8.3; `order` selects the rows to delete first if a category is over its budget.
    """

    cutoffs: Mapping[str, str] = field(default_factory=dict)
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    spares_pinned: bool = True
    order: Literal["value", "oldest"] = "value"


@dataclass(frozen=True, slots=True)
class ExpiredRow:
    """A row to delete, because its category is over budget or because of its age; `date` is the date for the rule."""

    category: str
    is_over_budget: bool
    version: RowVersion
    date: str
    excerpt: str
