"""Rows held for a moment, in memory as long as they are few, else in a file that goes with its descriptor."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Sequence
from types import TracebackType

from zeroclaw_tui.config.document.replacing import cannot_write_temporary
from zeroclaw_tui.memory.change import RowChange, StoredRow

_IN_MEMORY = 16_000_000
_AT_ONCE, _BYTES_AT_ONCE = 250, 8_000_000


class Spool:
    """Rows to bring about, in the order they were added. Iterated by one thread at a time, as often as wanted."""

    def __init__(self) -> None:
        # Only this process ever reads what it wrote: the file has no name.
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, prefix="zeroclaw-tui-")  # noqa: SIM115
        self._batch: list[RowChange] = []
        self._size = 0
        self.count = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, row: StoredRow) -> None:
        """One more. Raises Unreadable where the disk of temporary files is full."""
        self._batch.append(RowChange(row, None))
        self._size += row.size
        self.count += 1
        if len(self._batch) >= _AT_ONCE or self._size >= _BYTES_AT_ONCE:
            self.end()

    def end(self) -> None:
        """Nothing more comes."""
        if self._batch:
            try:
                pickle.dump(self._batch, self._file, pickle.HIGHEST_PROTOCOL)
            except OSError as error:
                raise cannot_write_temporary(error) from error
            self._batch, self._size = [], 0

    def batches(self) -> Iterator[Sequence[RowChange]]:
        """What was added, a few hundred at a time."""
        place = 0
        while True:
            # More than one pass may be under way, each at its own place.
            self._file.seek(place)
            try:
                batch = pickle.load(self._file)
            except EOFError:
                return
            place = self._file.tell()
            yield batch
