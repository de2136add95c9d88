"""The text of a config.toml where there is none yet: the documented form, which every ZeroClaw version reads."""

from __future__ import annotations

import re
from collections.abc import Iterable

from zeroclaw_tui.config.defaults import default_text
from zeroclaw_tui.config.document.document import ConfigDocument, KeyPath

TEMPERATURE = 0.7
TEMPERATURE_PATH: KeyPath = ("default_temperature",)
"""ZeroClaw 0.1.2 to 0.1.8 do not start without this key."""


def new_document(backend: str, paths: Iterable[KeyPath]) -> ConfigDocument:
    """The commented file of a backend below `default_temperature`; where a key of `paths` stands there in a comment,
    the comment is taken off, so that its value lands in its place."""
    text = default_text(backend)
    for path in paths:
        text = re.sub(rf"(?m)^# (?={re.escape(path[-1])} = )", "", text)
    return ConfigDocument.from_text(f"default_temperature = {TEMPERATURE}\n\n{text}")
