"""Whose memory it is: agents by alias, from ZeroClaw 0.8.0 on."""

from __future__ import annotations

import uuid

from zeroclaw_tui.backends.clock import utc_now
from zeroclaw_tui.backends.sqlite.writing import Transaction
from zeroclaw_tui.memory.change import AGENTS, RowChange, StoredRow
from zeroclaw_tui.memory.errors import Refused

DEFAULT = "default"
"""The alias ZeroClaw gives the owner of what was there before it knew agents."""


def id_of(transaction: Transaction, alias: str) -> str | None:
    """The id of the agent of this alias."""
    return next((agent for agent, known in transaction.aliases.items() if known == alias), None)


def owner_of(transaction: Transaction, alias: str | None) -> tuple[str, RowChange | None]:
    """The id of an agent, and what was added where there was none of that alias.

    Without an alias it is the agent `default`, or the only one. Raises Refused where that leaves a choice.
    """
    if alias is None:
        found = usual_owner(transaction)
        if found is not None:
            return found, None
        if transaction.aliases:
            raise Refused(
                f"This store belongs to the agents {', '.join(sorted(transaction.aliases.values()))}.",
                hint="Name the one that shall own the memory.",
            )
    wanted = DEFAULT if alias is None else alias
    known = id_of(transaction, wanted)
    if known is not None:
        return known, None
    added = _added(transaction, wanted)
    return added.id, RowChange(None, added)


def usual_owner(transaction: Transaction) -> str | None:
    """The id of the agent `default`, or of the only one."""
    only = next(iter(transaction.aliases)) if len(transaction.aliases) == 1 else None
    return id_of(transaction, DEFAULT) or only


def earlier_owner(transaction: Transaction, row: StoredRow) -> str | None:
    """Who owns a row that comes back: the agent of its id, else of its alias, else the usual one."""
    owner = row.values.get("agent_id")
    if isinstance(owner, str) and owner in transaction.aliases:
        return owner
    by_alias = id_of(transaction, row.agent) if row.agent is not None else None
    return by_alias or usual_owner(transaction)


def _added(transaction: Transaction, alias: str) -> StoredRow:
    row = transaction.table(AGENTS).insert({"id": str(uuid.uuid4()), "alias": alias, "created_at": utc_now()})
    transaction.aliases[row.id] = alias
    return row
