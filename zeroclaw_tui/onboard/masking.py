"""Secrets in what is shown of a plan: a URL without its password, four dots for the rest."""

from __future__ import annotations

import re
from typing import Any

from zeroclaw_tui.config.document.difference import Difference, difference
from zeroclaw_tui.config.secrets import is_encrypted, is_variable
from zeroclaw_tui.memory.text import HIDDEN, mask_secrets
from zeroclaw_tui.onboard.planning.plan import Change, Plan

_WITH_PASSWORD = re.compile(r"(?P<user>[a-zA-Z][a-zA-Z0-9+.\-]*://[^\s:/@]*):.*@", re.DOTALL)
_PARAMETER = re.compile(
    r"(?P<name>[?&;](?:[a-z_\-]*pass[a-z]*|[a-z_\-]*key|[a-z_\-]*token|[a-z_\-]*secret)=)[^&;]*", re.IGNORECASE
)
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*://\S+")


def masked_address(url: str) -> str:
    """A URL with four dots for its password, whatever characters that has, and for parameters that name a secret."""
    shown = _WITH_PASSWORD.sub(lambda found: f"{found.group('user')}:{HIDDEN}@", url)
    return mask_secrets(_PARAMETER.sub(lambda found: found.group("name") + HIDDEN, shown))


def masked_secret(value: str) -> str:
    """A secret as it may be seen: a URL without its password, the name of a variable, else four dots."""
    if is_variable(value) or not value:
        return value
    return masked_address(value) if _ADDRESS.fullmatch(value) else HIDDEN


def masked_value(value: Any) -> Any:
    """A value that is no secret itself, without the passwords a URL in it may carry."""
    if isinstance(value, str):
        return masked_address(value)
    return [masked_value(item) for item in value] if isinstance(value, list | tuple) else value


def written_encrypted(plan: Plan, change: Change) -> bool:
    """True when a secret given as plain text lies encrypted in the file to be written."""
    written = plan.after.get(change.path)
    return (
        change.is_secret
        and isinstance(written, str)
        and is_encrypted(written)
        and isinstance(change.after, str)
        and not is_encrypted(change.after)
    )


def shown_difference(plan: Plan) -> Difference:
    """What the plan changes, each new secret as its masked text in place of what it is encrypted to."""
    shown = {
        change.path: masked_secret(change.after)
        for change in plan.changes
        if change.is_secret and isinstance(change.after, str) and plan.after.has(change.path)
    }
    return difference(plan.before, plan.after.with_values(shown) if shown else plan.after)
