"""Predict what ZeroClaw >= 0.8.4 does with a new memory by `[memory.policy]`: redact, refuse, or store it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.backends.factory import has_quotas
from zeroclaw_tui.backends.lookup import count_matching
from zeroclaw_tui.config.schema import MEMORY_KEYS, fits
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.scoring.scanner import ScanMode, category_of, redact, scan_all

_MODES: Mapping[str, ScanMode] = {"off": "off", "on": "on", "strict": "strict"}
_DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """The categories that ZeroClaw would redact in a memory, or its own sentence of refusal."""

    redacted: tuple[str, ...] = ()
    refusal: str | None = None

    def sentences(self) -> tuple[str, ...]:
        if self.refusal is not None:
            return (f"ZeroClaw would refuse this: {self.refusal}.",)
        if self.redacted:
            return (f"ZeroClaw would store this with {', '.join(self.redacted)} blanked out.",)
        return ()


async def store_verdict(library: Library, content: str, category: str, namespace: str | None) -> PolicyVerdict:
    """The verdict on a memory that is stored with these values, quotas included."""
    if not library.profile.profile.scans_content:
        return PolicyVerdict()
    policy = library.config.values.get("policy")
    policy = policy if isinstance(policy, Mapping) else {}
    verdict = await asyncio.to_thread(policy_verdict, policy, content, namespace)
    if verdict.refusal is not None or not has_quotas(library.memory.name):
        return verdict
    space = namespace or _DEFAULT_NAMESPACE
    quotas = (
        ("namespace", _value(policy, "max_entries_per_namespace"), MemoryFilter(namespace=(space,))),
        ("category", _value(policy, "max_entries_per_category"), MemoryFilter(category=(category,))),
    )
    for name, most, wanted in quotas:
        count = await count_matching(library.memory, wanted) if most else 0
        if most and count >= most:
            refusal = f"memory write denied by policy: {name} quota exceeded: {count}/{most} entries"
            return PolicyVerdict(verdict.redacted, refusal)
    return verdict


def policy_verdict(policy: Mapping[str, Any], content: str, namespace: str | None) -> PolicyVerdict:
    """The verdict without quotas, which need counts; `policy` is the table of config.toml."""
    redacted: tuple[str, ...] = ()
    if _value(policy, "redact_on_write"):
        categories = map(category_of, _value(policy, "redact_categories"))
        content, redacted = redact(content, [category for category in categories if category is not None])
    mode, on_hit = (str(_value(policy, name)).strip().lower() for name in ("threat_scan", "threat_scan_on_hit"))
    kinds = scan_all(content, _MODES.get(mode, "off"))
    refusal = None
    if kinds and on_hit == "reject":
        refusal = f"memory write blocked by content scan: {','.join(kinds)}"
    elif (namespace or _DEFAULT_NAMESPACE) in _value(policy, "read_only_namespaces"):
        space = namespace or _DEFAULT_NAMESPACE
        refusal = f"memory write denied by policy: namespace '{space}' is read-only"
    return PolicyVerdict(redacted, refusal)


def _value(policy: Mapping[str, Any], name: str) -> Any:
    """A setting of the table; its default if it is missing or of another type."""
    key = MEMORY_KEYS[f"policy.{name}"]
    value = policy.get(name, key.default)
    return value if fits(key.kind, value) else key.default
