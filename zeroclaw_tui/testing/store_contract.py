"""Everything a Memory that takes writes must hold to, but reading the samples (MemoryContract) and going away."""

from __future__ import annotations

from zeroclaw_tui.testing.cancel_contract import CancelContract
from zeroclaw_tui.testing.capability_contract import CapabilityContract
from zeroclaw_tui.testing.many_rows_contract import ManyRowsContract
from zeroclaw_tui.testing.two_writers_contract import TwoWritersContract
from zeroclaw_tui.testing.verbs_contract import VerbsContract
from zeroclaw_tui.testing.write_contract import WritableMemoryContract


class StoreContract(
    WritableMemoryContract, VerbsContract, ManyRowsContract, TwoWritersContract, CancelContract, CapabilityContract
):
    """Tests that each take an open `memory` of their own that may be written and holds a few rows."""
