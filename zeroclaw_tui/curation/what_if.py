"""Other numbers for recall, tried on gathered evidence and written to config.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from zeroclaw_tui.scoring.replay import Trial

if TYPE_CHECKING:
    from zeroclaw_tui.curation.hygiene.rule_change import RuleChange, Value
    from zeroclaw_tui.curation.library import Library


def written_settings(library: Library, trial: Trial) -> Mapping[str, Value]:
    """What of a trial config.toml can hold and does not hold yet, by name ("memory.vector_weight")."""
    raise NotImplementedError


def plan_settings_change(library: Library, trial: Trial) -> RuleChange:
    """What changes in config.toml, ready to be shown and saved. Raises Refused for a store without one or when nothing
    of the trial can be written, WrongUse for values ZeroClaw would not take, BrokenConfig."""
    raise NotImplementedError
