"""What a backend answers about itself: how it is, what upkeep finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import RowVersion
    from zeroclaw_tui.memory.errors import InspectorError


@dataclass(frozen=True, slots=True)
class ContentRevision:
    """One change that a store's own history tells of: its word for it, the text before and after, and when."""

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
    """How a store is. `findings` are sentences, the worst first; `facts` are names and values in reading order."""

    ok: bool
    summary: str
    findings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StartCheck:
    """Whether ZeroClaw could start with a store: `summary` in a few words ("connects in 12 ms"), `facts` more of them.

    `problem` is what ZeroClaw would stumble over, None where all is well.
    """

    summary: str
    facts: tuple[str, ...] = ()
    problem: InspectorError | None = None
    corrections: Mapping[str, Any] = field(default_factory=dict)
    """Settings that are wrong for this store, with the right value ({"memory.embedding_dimensions": 768})."""


MOST_FAULTS = 10


@dataclass(frozen=True, slots=True)
class Pages:
    """What a check of every page found. `faults` are the database's own sentences, at most MOST_FAULTS.

    `index_in_step` says whether the keyword index holds exactly the words of the memories; None where there is none.
    """

    faults: tuple[str, ...]
    index_in_step: bool | None


@dataclass(frozen=True, slots=True)
class Budget:
    """The most rows, and the most characters of contents, that a category may have; 0 is no bound."""

    rows: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class Retention:
    """What may stay. `cutoffs` are RFC 3339 texts by category, `budgets` bounds by category, each in order of doing.

    Core rows go by when they were made, the others by their last change. `spares_pinned` is how ZeroClaw >= 0.8.3
    acts; `order` says which rows go first over a bound.
    """

    cutoffs: Mapping[str, str] = field(default_factory=dict)
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    spares_pinned: bool = True
    order: Literal["value", "oldest"] = "value"


@dataclass(frozen=True, slots=True)
class ExpiredRow:
    """A row that would go. `is_over_budget` tells why, `date` is what the rule went by."""

    category: str
    is_over_budget: bool
    stamp: RowVersion
    date: str
    excerpt: str
