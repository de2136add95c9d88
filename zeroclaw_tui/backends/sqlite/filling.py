"""Giving rows the vectors of the contents they have."""

from __future__ import annotations

from collections.abc import Sequence

from zeroclaw_tui.backends.sqlite.identity import other_model
from zeroclaw_tui.backends.sqlite.writing import HELD_SECONDS, Transaction, Writing
from zeroclaw_tui.memory.change import FilledVectors, NewVector, Vector
from zeroclaw_tui.memory.errors import Refused

_UPDATE = "UPDATE memories SET embedding = ? WHERE rowid = ?"


def fill_vectors(writing: Writing, vectors: Sequence[NewVector]) -> FilledVectors:
    """Write vectors into the rows that still have the fingerprint, a few at a time; their times stay.

    Raises Refused for vectors of another model than the store names, before any of them is written.
    """
    left: list[str] = []
    waiting = list(vectors)
    while waiting:
        with writing.transaction() as transaction:
            done = 0
            while waiting and not (done and transaction.seconds > HELD_SECONDS):
                wanted = waiting.pop(0)
                refuse_other_model(transaction, wanted.vector)
                row = transaction.memories.with_id(wanted.id)
                if row is None or row.fingerprint != wanted.fingerprint:
                    left.append(wanted.id)
                else:
                    transaction.connection.execute(_UPDATE, (wanted.vector.data, row.handle))
                    done += 1
            held = transaction.seconds
        writing.done += done
        if waiting:
            writing.rest(held)
    return FilledVectors(writing.done, tuple(left))


def refuse_other_model(transaction: Transaction, vector: Vector) -> None:
    """Raise Refused where the store's vectors come from another model."""
    theirs = other_model(transaction.connection, transaction.schema, vector.provider, vector.model, vector.dimensions)
    if theirs is not None:
        raise another_model(theirs)


def another_model(theirs: str) -> Refused:
    """The error for vectors of one model in a store of another's."""
    return Refused(
        f"The vectors here come from another model ({theirs}), and two models' vectors cannot be compared.",
        hint="Start ZeroClaw once with the present settings: it empties the old vectors. Then do it again.",
    )
