"""Putting back what keeps the keyword index."""

from __future__ import annotations

from zeroclaw_tui.backends.sqlite.ddl import KEYWORD_INDEX, TRIGGERS
from zeroclaw_tui.backends.sqlite.writing import Writing, missing_of_index


def repair(writing: Writing) -> None:
    """Make ZeroClaw's own index and triggers where they are missing, and fill the index anew, all at once."""
    with writing.transaction(needs_index=False) as transaction:
        for name in missing_of_index(transaction.connection):
            transaction.connection.execute(TRIGGERS.get(name, KEYWORD_INDEX))
        transaction.connection.execute("INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')")
