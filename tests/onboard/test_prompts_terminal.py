"""The terminal's Asker, tested with typed keys and the resulting screen."""

from __future__ import annotations

import gc
import io
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyte
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output
from support.wizard_world import situation_of

from zeroclaw_tui.config.schema import Target
from zeroclaw_tui.onboard.answers import Answers
from zeroclaw_tui.onboard.prompts import Move, terminal_asker
from zeroclaw_tui.onboard.question import Choice, Question

DOWN = "\x1b[B"
BACKENDS = (
    Choice("sqlite", "SQLite", "words and vectors, local"),
    Choice("postgres", "PostgreSQL", "words, over the network"),
)


class Screen:
    """The text on the terminal, including lines scrolled away."""

    def __init__(self, columns: int, raw: io.StringIO, rows: int = 60) -> None:
        self.columns, self.rows = columns, rows
        self.raw = raw

    def text(self) -> str:
        screen = pyte.Screen(self.columns, self.rows)
        pyte.Stream(screen).feed(self.raw.getvalue())
        return "\n".join(line.rstrip() for line in screen.display)


@contextmanager
def typed(*keys: str, columns: int = 80, raw: io.StringIO | None = None) -> Iterator[Screen]:
    screen = Screen(columns, io.StringIO() if raw is None else raw)
    output = Vt100_Output(screen.raw, lambda: Size(rows=screen.rows, columns=columns), term="xterm-256color")
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=output):
        pipe.send_text("".join(keys))
        yield screen


DAYS, API_KEY = "memory.conversation_retention_days", "memory.embedding_api_key"
DB_URL, PROVIDER = "storage.postgres.db_url", "memory.embedding_provider"
TEXT = "Keep conversation memories for how many days?"
ABOUT = "ZeroClaw permanently deletes older conversation memories when it starts. 0 keeps them."
CONFIG = 'schema_version = 3\n[memory]\nbackend = "postgres"\nconversation_retention_days = 30\n'


def ask(setting: str = DAYS, config: str = CONFIG, **rows: str) -> Any:
    situation = situation_of(config, Target(3, True, True))
    question = Question(setting, TEXT, ABOUT, "Hygiene", lambda answers: True, rows=rows)
    return terminal_asker().ask(question, Answers(situation), 7)


MODES = {"hybrid": "both", "bm25": "keywords only", "embedding": "vectors only"}
MODE = "memory.search_mode"


def test_enter_keeps_the_current_value() -> None:
    with typed("\r") as screen:
        assert ask(config=CONFIG.replace("30", "7")) == "7"
    for words in ("Step 7 · Hygiene", "when it starts", "now 7", "default 30", "ctrl+b back"):
        assert words in screen.text()


def test_a_wrong_answer_is_asked_again_with_the_typed_text() -> None:
    with typed("\x15many\r", "\x7f" * 4 + "14\r"):
        assert ask() == "14"


def test_back_is_a_key_and_the_last_row_of_a_list() -> None:
    with typed("\x02"):
        assert ask() is Move.BACK
    for keys in ("\x02", DOWN * 3 + "\r"):
        with typed(keys) as screen:
            assert ask(MODE, **MODES) is Move.BACK
        assert "← back" in screen.raw.getvalue()


def test_a_list_marks_and_describes_the_current_value() -> None:
    with typed("\r") as screen:
        assert ask(MODE, CONFIG + 'search_mode = "bm25"\n', **MODES) == "bm25"
    assert "bm25  (now)" in screen.raw.getvalue()
    assert "keywords only" in screen.raw.getvalue()


def test_a_long_description_is_shown_whole_in_a_narrow_terminal() -> None:
    with typed("\r", columns=40) as screen:
        ask(MODE, hybrid="both the keywords and the vectors of all your memories", bm25="keywords only")
    assert "your memories" in screen.raw.getvalue()


def test_y_and_n_answer_a_switch_at_once() -> None:
    for keys, answer in (("n", "no"), ("y", "yes"), ("\r", "yes")):
        with typed(keys):
            assert ask("memory.auto_save") == answer


class Interrupted(io.StringIO):
    """A terminal whose program gets a signal as soon as it draws the input line."""

    def write(self, text: str) -> int:
        if "❯" in text and not self.getvalue().count("❯"):
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


@pytest.fixture
def signals() -> Iterator[None]:
    """Make SIGINT an interrupt, as in a program started in a terminal.

    Garbage collection is off: Hypothesis is called at each collection and would get the interrupt.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()
    yield
    gc.enable()
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("setting", [DAYS, MODE, "memory.auto_save", API_KEY])
def test_a_signal_is_an_interrupt_in_every_kind_of_question(setting: str, signals: None) -> None:
    """The signal is sent as by `kill -INT`."""
    rows = MODES if setting == MODE else {}
    with typed("\r", raw=Interrupted()), pytest.raises(KeyboardInterrupt):
        ask(setting, **rows)


def test_a_typed_api_key_is_never_shown() -> None:
    key = "sk-abcdefghijklmnop"
    with typed(f"{key}\r") as screen:
        assert ask(API_KEY) == key
    assert key not in screen.raw.getvalue()
    assert "abcdefgh" not in screen.raw.getvalue()


def test_enter_keeps_an_existing_api_key_without_showing_it() -> None:
    with typed("\r") as screen:
        assert ask(API_KEY, CONFIG + 'embedding_api_key = "hush-hush"\n') == "hush-hush"
    assert "hush" not in screen.raw.getvalue()


def test_a_url_is_shown_while_typed_except_its_password() -> None:
    url = "postgres://ann:pass-word@db:5432/zeroclaw"
    with typed(f"{url}\r") as screen:
        assert ask(DB_URL) == url
    raw = screen.raw.getvalue()
    assert "pass-word" not in raw
    assert "pass" not in raw
    assert "@db:5432/zeroclaw" in screen.text()


def test_the_secret_parts_of_any_url_are_never_shown() -> None:
    present, other = (f"custom:https://me:hunter2@{host}/v1?token=abcd1234" for host in ("here", "there"))
    for keys, answer in (("\r", present), (f"\x15{other}\r", other)):
        with typed(keys) as screen:
            assert ask(PROVIDER, CONFIG + f'embedding_provider = "{present}"\n') == answer
        assert "now custom:https://me:••••@here/v1?token=••••" in screen.text()
        assert screen.text().rstrip().endswith(answer.replace("hunter2", "••••").replace("abcd1234", "••••"))
        assert "hunter2" not in screen.raw.getvalue()
        assert "abcd1234" not in screen.raw.getvalue()


def test_hostile_text_is_cleaned_for_the_terminal() -> None:
    with typed() as screen:
        terminal_asker().say([[("", "before \x1b]0;owned\x07 \x1b[31m after \x9b31m")]])
    assert "\x1b]0;" not in screen.raw.getvalue()
    assert "before" in screen.text()


def test_colour_is_sent_only_to_a_terminal_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    with typed() as screen:
        terminal_asker().say([[("bad", "✗ no")]])
    assert "38;" in screen.raw.getvalue()


@pytest.mark.parametrize(
    ("pasted", "line"),
    [
        ("one\ntwo\r\nthree\n", "onetwothree"),
        ("\x1b[31mred\x1b[0m \x1b]0;owned\x07title", "red title"),
        ("\x1b]8;;http://a\x1b\\link", "link"),
        ("tab\tbell\x07\x9b31m\u2028", "tabbell31m"),
        ("漢字 😀 é", "漢字 😀 é"),
    ],
)
def test_pasted_text_becomes_one_line_without_control_characters(pasted: str, line: str) -> None:
    # A terminal ends the paste with a marker, so the text may not contain one.
    with typed(f"\x1b[200~{pasted}\x1b[201~", "\r"):
        assert ask(API_KEY) == line


def test_a_pasted_password_is_hidden_even_if_the_url_has_two_lines() -> None:
    with typed("\x1b[200~postgres://me:pass-\nword@db/x\x1b[201~", "\r") as screen:
        assert ask(DB_URL) == "postgres://me:pass-word@db/x"
    assert "word" not in screen.raw.getvalue()


# Down and a second interrupt have their own meanings.
_CONTROL = [chr(code) for code in range(1, 32) if chr(code) not in "\x02\x03\x0e\x11\t\n\r\x1b"]


@pytest.mark.parametrize("key", [*_CONTROL, "\x1bx", "\x18\x05", "x", "é"], ids=repr)
def test_only_known_keys_answer_a_menu(key: str) -> None:
    with typed(DOWN, key, "\r", "\r"):
        assert terminal_asker().choose("Now?", BACKENDS) in ("sqlite", "postgres")


_IN_A_LINE = [key for key in _CONTROL if key != "\x02"]


@pytest.mark.parametrize("key", [*_IN_A_LINE, "\x11\x1a", "\x1b[31m", "\x85"], ids=repr)
def test_no_key_types_a_control_character_into_a_line(key: str) -> None:
    with typed("one", key, "two\r", "\r"):
        answer = ask(API_KEY)
    assert answer.isprintable()
