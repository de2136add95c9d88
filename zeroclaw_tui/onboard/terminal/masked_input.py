"""What a line does with its text: a pasted one is made one line, and the password of a URL is hidden."""

from __future__ import annotations

import re

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments

_USER = re.compile(r"^\s*[A-Za-z][A-Za-z0-9+.\-]*://[^:/?#]*:")
_PORT = re.compile(r"\d{0,5}(?:[/?#]|$)")
_ESCAPES = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])|[\x00-\x1f\x7f-\x9f\u2028\u2029]"
)
DOT = "•"


def pasted_text(text: str) -> str:
    """A pasted text as one line: without line ends, which a narrow window adds to what is copied from it, and without
    escape sequences and other control characters."""
    return _ESCAPES.sub("", text)


def password_span(text: str) -> tuple[int, int]:
    """From where to where the password of a URL reaches, also while its end is still to come; empty without one.

    It ends at the last "@" before the path, for a password may hold one itself; until the "@" is typed, at the end.
    """
    user = _USER.match(text)
    if user is None:
        return 0, 0
    start = user.end()
    authority_end = next((at for at in range(start, len(text)) if text[at] in "/?#"), len(text))
    at = text.rfind("@", start, authority_end)
    if at < 0:
        at = text.rfind("@", start)
    if at < 0 and _PORT.match(text, start):
        return 0, 0
    return start, at if at >= 0 else len(text)


class HidePassword(Processor):
    """Shows a dot for each character of the password; what is edited stays what was typed."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """The line with its password hidden, cell for cell, so that the cursor stays where it is."""
        fragments = explode_text_fragments(transformation_input.fragments)
        start, end = password_span("".join(fragment[1] for fragment in fragments))
        hidden: StyleAndTextTuples = [
            (fragment[0], DOT if start <= at < end and fragment[1] != "\n" else fragment[1])
            for at, fragment in enumerate(fragments)
        ]
        return Transformation(hidden)
