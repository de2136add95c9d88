"""A config.toml that holds no key yet: the one key it needs besides those of memory, and the text of a new file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from zeroclaw_tui.config.defaults import default_text
from zeroclaw_tui.config.document.document import ConfigDocument, KeyPath
from zeroclaw_tui.config.form import NEWEST_SCHEMA
from zeroclaw_tui.config.setting_table import Target

_STORE_OF_OLD_FORM = re.compile(r"(?ms)^\[(?:storage\.provider\.config|memory\.qdrant)\].*?(?=^\[|\Z)")
_ABOUT_THE_DEFAULTS = re.compile(r"(?m)^# These are the values written for this backend\..*\n(?:# .*\n)*")
_TIMEOUT_OF_OLD_FORM = re.compile(r"(?m)^# Seconds to wait for the database file;.*\n# sqlite_open_timeout_secs = .*\n")


def first_key(target: Target) -> tuple[KeyPath, Any]:
    """What a config without any key needs: ZeroClaw 0.1.2 to 0.1.8 do not start without `default_temperature`, and
    0.7.3 and later take a file without `schema_version` for an older one."""
    return (("schema_version",), target.schema) if target.schema > 1 else (("default_temperature",), 0.7)


def new_document(backend: str, target: Target, paths: Iterable[KeyPath]) -> ConfigDocument:
    """The commented file of a backend below its first key; where a key of `paths` stands there in a comment, the
    comment is taken off, so that its value lands in its place. Tables of the form up to 0.7.5 are left out of a file
    in schema 3, where those of `[storage.<kind>.<alias>]` come in their place."""
    text = _ABOUT_THE_DEFAULTS.sub("", default_text(backend))
    if target.schema >= NEWEST_SCHEMA:
        text = _TIMEOUT_OF_OLD_FORM.sub("", _STORE_OF_OLD_FORM.sub("", text)).rstrip() + "\n"
    else:
        for path in paths:
            text = re.sub(rf"(?m)^# (?={re.escape(path[-1])} = )", "", text)
    (name,), value = first_key(target)
    return ConfigDocument.from_text(f"{name} = {value}\n\n{text}")
