"""`memory prompt`: the literal text ZeroClaw puts before a message, and nothing else, on stdout.

What cannot be seen in it is marked; `--raw` gives it byte for byte, as the document's "text" does letter for letter.
What is to be said about it goes to stderr. Its document: {"query", "text", "rule", "differs_by_rule", "characters",
"tokens", "entries", "why_empty", "profile", "profile_source", "threshold", "results": [{"rank", "id", "key", "score",
"decayed", "reranked", "rerank_place", "injected", "not_injected_because"}], "notes"}.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime

from zeroclaw_tui.cli.output import document, note
from zeroclaw_tui.cli.recall import RULE_WORDS, tell_notes, trial_given
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import Prompt, prompt_for
from zeroclaw_tui.memory.errors import DONE, WrongUse
from zeroclaw_tui.memory.text import counted, display_text, one_line


async def prompt(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code, which is 0 for an empty prompt too."""
    made = await prompt_for(library, trial_given(library, given, now))
    if given.json:
        document(made.as_json())
    elif given.raw:
        _write_literally(made.text)
    else:
        sys.stdout.write(display_text(made.text))
    for sentence in _facts(made, given):
        note(f"zeroclaw: {sentence}")
    tell_notes(library, made.result.notes, set())
    return DONE


def _write_literally(text: str) -> None:
    """The very bytes. Raises WrongUse where a terminal would act on them."""
    if sys.stdout.isatty() and display_text(text) != text:
        raise WrongUse(
            "The exact text holds characters that cannot be seen or that steer a terminal, so it is not sent to one.",
            hint="Send it to a file or a program, as in `zeroclaw memory prompt --raw … > block.txt`.",
        )
    sys.stdout.flush()
    sys.stdout.buffer.write(_bytes(text))
    sys.stdout.buffer.flush()


def _bytes(text: str) -> bytes:
    """Bytes that are no UTF-8 came out of the store as surrogate escapes; other lone surrogates have none."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _facts(made: Prompt, given: argparse.Namespace) -> list[str]:
    result = made.result
    by = f"by the rule of {RULE_WORDS[made.rule]} in ZeroClaw {result.profile} ({one_line(result.profile_source)})"
    if made.why_empty is not None:
        facts = [f"{made.why_empty} So nothing is put before this message, {by}."]
    else:
        size = f"{counted(made.characters, 'character')}, about {counted(made.tokens, 'token')}"
        facts = [f"{counted(made.entries)}, {size}, {by}."]
        if not given.raw and not given.json and display_text(made.text) != made.text:
            facts.append("What cannot be seen in it is marked; --raw gives the exact text.")
    if made.differs_by_rule and made.rule in ("cli", "channel"):
        other = "cli" if made.rule == "channel" else "channel"
        whose = "The CLI agent injects" if made.rule == "channel" else "Channels inject"
        facts.append(f"{whose} by another rule in this version; --rule {other} shows it.")
    return facts
