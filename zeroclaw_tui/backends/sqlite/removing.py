"""Removing memories, a few at a time, and the cached vectors of their contents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from zeroclaw_tui.backends.sqlite.raw_rows import RawTable
from zeroclaw_tui.backends.sqlite.stamps import state_of
from zeroclaw_tui.backends.sqlite.writing import MOST_BYTES, MOST_ROWS, Pace, Transaction, Writing
from zeroclaw_tui.memory.change import EMBEDDING_CACHE, Advance, Keep, Removal, RowChange, Stamp, StoredRow

_STILL_IN_LOG = "What was deleted may still be read in {}-wal until the last program that has it open closes it."


class Removing:
    """The removal of these memories. It may be run again after SchemaMoved, and goes on where it was."""

    def __init__(self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None) -> None:
        self._stamps = stamps
        self._keep = keep
        self._advance = advance
        self._next = 0
        self._removed = 0
        self._changed: list[str] = []
        self._gone: list[str] = []

    def run(self, writing: Writing) -> Removal:
        """Remove what still has the state of its stamp."""
        pace = Pace()
        writing.done = self._removed
        while self._next < len(self._stamps):
            batch = self._batch(pace.rows)
            with writing.transaction() as transaction:
                rows = self._unchanged(transaction, batch)
                writing.keep(self._keep, [RowChange(row, None) for row in rows])
                transaction.memories.delete(rows)
            held = transaction.seconds
            pace.took(len(batch), held)
            self._next += len(batch)
            self._removed = writing.done = self._removed + len(rows)
            goes_on = self._advance is None or self._advance(self._next)
            if self._next < len(self._stamps):
                if writing.is_stopped or not goes_on:
                    return self._result(cancelled=True)
                writing.rest(held)
        if writing.zero and self._removed and not writing.zeroed():
            return replace(self._result(), notes=(_STILL_IN_LOG.format(writing.path.name),))
        return self._result()

    def _batch(self, rows: int) -> list[Stamp]:
        batch: list[Stamp] = []
        size = 0
        for stamp in self._stamps[self._next : self._next + rows]:
            size += stamp.size
            if batch and size > MOST_BYTES:
                break
            batch.append(stamp)
        return batch

    def _unchanged(self, transaction: Transaction, batch: Sequence[Stamp]) -> list[StoredRow]:
        present = transaction.memories.with_ids([stamp.id for stamp in batch])
        going: dict[object, StoredRow] = {}
        for stamp in batch:
            row = present.get(stamp.id) or transaction.memories.with_id(stamp.id, stamp.handle)
            if row is None:
                self._gone.append(stamp.id)
            elif state_of(row) != stamp.state:
                self._changed.append(stamp.id)
            else:
                going[row.handle] = row
        return list(going.values())

    def _result(self, *, cancelled: bool = False) -> Removal:
        return Removal(self._removed, tuple(self._changed), tuple(self._gone), cancelled)


def forget_cached_vectors(writing: Writing, contents: Sequence[str], keep: Keep) -> int:
    """Remove what ZeroClaw's embedding cache holds of these contents; gives how many."""
    hashes = content_hashes(contents)
    for start in range(0, len(hashes), MOST_ROWS):
        with writing.transaction(needs_index=False) as transaction:
            cache = transaction.table(EMBEDDING_CACHE)
            rows = list(cache.with_ids(hashes[start : start + MOST_ROWS]).values())
            writing.keep(keep, [RowChange(row, None) for row in rows])
            cache.delete(rows)
        writing.done += len(rows)
        if start + MOST_ROWS < len(hashes):
            writing.rest(transaction.seconds)
    return writing.done


def count_cached_vectors(cache: RawTable, contents: Sequence[str]) -> int:
    """How many of these contents the cache knows."""
    return len(cache.with_ids(content_hashes(contents)))


def content_hashes(contents: Sequence[str]) -> list[str]:
    """ZeroClaw's keys of contents, each once: the first eight bytes of the SHA-256, in hexadecimal."""
    digests = (hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest() for content in contents)
    return list(dict.fromkeys(digest[:16] for digest in digests))
