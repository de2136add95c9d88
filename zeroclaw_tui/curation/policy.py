"""What ZeroClaw's own write policy, `[memory.policy]` of its config, would do with a memory that is written here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.config.schema import MEMORY_KEYS, fits
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.scoring.scanner import ScanMode, category_of, redact, scan_all

_SCAN_MODES: Mapping[str, ScanMode] = {"off": "off", "on": "on", "strict": "strict"}


def policy_sentences(library: Library, content: str, namespace: str | None) -> tuple[str, ...]:
    """Say what ZeroClaw would blank out in a memory, or why it would refuse it, but for its quotas. Blocks."""
    if not library.profile.profile.scans_content:
        return ()
    table = library.config.values.get("policy")
    policy = table if isinstance(table, Mapping) else {}
    redacted: tuple[str, ...] = ()
    if _value(policy, "redact_on_write"):
        categories = map(category_of, _value(policy, "redact_categories"))
        content, redacted = redact(content, [category for category in categories if category is not None])
    mode, on_hit = (str(_value(policy, name)).strip().lower() for name in ("threat_scan", "threat_scan_on_hit"))
    kinds, space = scan_all(content, _SCAN_MODES.get(mode, "off")), namespace or "default"
    if kinds and on_hit == "reject":
        return (f"ZeroClaw would refuse this: memory write blocked by content scan: {','.join(kinds)}.",)
    if space in _value(policy, "read_only_namespaces"):
        return (f"ZeroClaw would refuse this: memory write denied by policy: namespace '{space}' is read-only.",)
    return (f"ZeroClaw would store this with {', '.join(redacted)} blanked out.",) if redacted else ()


def _value(policy: Mapping[str, Any], name: str) -> Any:
    """A setting of the table; its default if it is missing or of another type."""
    key = MEMORY_KEYS[f"policy.{name}"]
    value = policy.get(name, key.default)
    return value if fits(key.kind, value) else key.default
