"""The terminal's Asker, with the keys a person presses and the screen a person sees."""

from __future__ import annotations

import io
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pyte
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.setting_names import Target, parsed_value
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.onboard.prompts import Move, terminal_asker
from zeroclaw_tui.onboard.question import (
    Choice,
    Question,
)

DOWN = "\x1b[B"
BACKENDS = (
    Choice("sqlite", "SQLite", "words and vectors, local"),
    Choice("postgres", "PostgreSQL", "words, over the network"),
)


class Screen:
    """What is on the terminal, with everything that scrolled away."""

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


def _number(answers: Any, text: str) -> int:
    if not text.isdigit():
        raise UsageError("This is no whole number.", hint="Type one like 30.")
    return int(text)


def make_question(
    kind: str = "text",
    *,
    setting: str = "memory.conversation_retention_days",
    present: str = "30",
    read: Callable[[Any, str], Any] = _number,
    choices: tuple[Choice, ...] = (),
) -> Question:
    return Question(
        id="days",
        group="Hygiene",
        setting=setting,
        kind=kind,  # type: ignore[arg-type]
        text="Keep conversation memories for how many days?",
        about=lambda answers: "ZeroClaw permanently deletes older conversation memories when it starts. 0 keeps them.",
        is_asked=lambda answers: True,
        present=lambda answers: present,
        default=lambda answers: "7",
        read=read,
        choices=lambda answers: choices,
    )


class NoAnswers:
    """Answers for questions that do not look at any."""

    def value(self, name: str) -> Any:
        return "secret-value-of-today"

    def source(self, name: str) -> str:
        return "config"

    @property
    def situation(self) -> Any:
        return SimpleNamespace(has_no_key=False, document=None, target=None)


def ask(question: Question) -> Any:
    return terminal_asker().ask(question, NoAnswers(), 7)  # type: ignore[arg-type]


def test_enter_keeps_what_is_there() -> None:
    with typed("\r") as screen:
        assert ask(make_question()) == "30"
    for words in ("Step 7 · Hygiene", "when it starts", "now 30", "default 7", "ctrl+b back"):
        assert words in screen.text()


def test_a_wrong_answer_is_reported_and_asked_again_with_what_was_typed() -> None:
    with typed("\x15many\r", "\x15" + "14\r") as screen:
        assert ask(make_question()) == "14"
    assert "✗ This is no whole number. Type one like 30." in screen.raw.getvalue()


def test_a_wrong_answer_names_the_setting_as_this_file_spells_it() -> None:
    """ZeroClaw <= 0.7.5 has no [storage.sqlite]."""
    setting = "storage.sqlite.open_timeout_secs"
    situation = SimpleNamespace(has_no_key=False, document=ConfigDocument(), target=Target(1, False, False))
    answers = SimpleNamespace(
        situation=situation, alias=lambda: "default", value=lambda name: 30, source=lambda name: "config"
    )
    question = make_question(setting=setting, read=lambda answers, text: parsed_value(setting, text))
    with typed("\x15999\r", "\x15" + "9\r") as screen:
        assert terminal_asker().ask(question, answers, 7) == "9"  # type: ignore[arg-type]
    assert "✗ memory.sqlite_open_timeout_secs must be" in screen.raw.getvalue()
    assert setting not in screen.raw.getvalue()


def test_back_is_a_key_in_lines_and_lists_and_the_last_row_of_a_list() -> None:
    with typed("\x02"):
        assert ask(make_question()) is Move.BACK
    for keys in ("\x02", DOWN * 2 + "\r"):
        with typed(keys) as screen:
            assert ask(make_question("choice", present="sqlite", read=lambda a, t: t, choices=BACKENDS)) is Move.BACK
        assert "← back" in screen.raw.getvalue()


def test_a_list_points_at_what_is_there_and_says_so() -> None:
    with typed("\r") as screen:
        assert ask(make_question("choice", present="postgres", read=lambda a, t: t, choices=BACKENDS)) == "postgres"
    assert "PostgreSQL  words, over the network  (now)" in screen.raw.getvalue()


def test_y_and_n_answer_a_switch_at_once() -> None:
    switch = make_question("switch", present="yes", read=lambda a, t: t == "yes")
    with typed("n"):
        assert ask(switch) == "no"
    with typed("y"):
        assert ask(switch) == "yes"
    with typed("\r"):
        assert ask(switch) == "yes"


class Interrupted(io.StringIO):
    """A terminal whose program gets a signal as soon as it draws where one answers."""

    def write(self, text: str) -> int:
        if "❯" in text and not self.getvalue().count("❯"):
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


@pytest.fixture
def signals() -> Iterator[None]:
    """SIGINT is an interrupt, as in a program that was started in a terminal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("kind", ["text", "choice", "switch", "secret"])
def test_a_signal_is_an_interrupt_in_every_kind_of_question(kind: str, signals: None) -> None:
    """As `kill -INT` sends it."""
    choices = BACKENDS if kind == "choice" else ()
    question = make_question(kind, setting="memory.embedding_api_key", read=lambda a, t: t, choices=choices)
    with typed("\r", raw=Interrupted()), pytest.raises(KeyboardInterrupt):
        ask(question)


def test_a_key_typed_never_reaches_the_screen() -> None:
    key = "sk-abcdefghijklmnop"
    question = make_question("secret", setting="memory.embedding_api_key", present="", read=lambda a, t: t)
    with typed(f"{key}\r") as screen:
        assert ask(question) == key
    assert key not in screen.raw.getvalue()
    assert "abcdefgh" not in screen.raw.getvalue()


def test_enter_keeps_a_key_that_is_there_without_showing_it() -> None:
    question = make_question("secret", setting="memory.embedding_api_key", present="hush-hush", read=lambda a, t: t)
    with typed("\r") as screen:
        assert ask(question) == "hush-hush"
    assert "hush" not in screen.raw.getvalue()


def test_a_url_is_shown_while_typed_but_for_its_password() -> None:
    url = "postgres://ann:pass-word@db:5432/zeroclaw"
    question = make_question("secret", setting="storage.postgres.db_url", present="", read=lambda a, t: t)
    with typed(f"{url}\r") as screen:
        assert ask(question) == url
    raw = screen.raw.getvalue()
    assert "pass-word" not in raw
    assert "pass" not in raw
    assert "@db:5432/zeroclaw" in screen.text()


def test_what_is_secret_in_any_address_is_never_on_the_screen() -> None:
    present, other = (f"https://me:hunter2@{host}/v1?token=abcd1234" for host in ("here", "there"))
    question = make_question(setting="memory.embedding_provider", present=present, read=lambda a, t: t)
    for keys, answer in (("\r", present), (f"\x15{other}\r", other)):
        with typed(keys) as screen:
            assert ask(question) == answer
        assert "now https://me:••••@here/v1?token=••••" in screen.text()
        assert screen.text().rstrip().endswith(answer.replace("hunter2", "••••").replace("abcd1234", "••••"))
        assert "hunter2" not in screen.raw.getvalue()
        assert "abcd1234" not in screen.raw.getvalue()


def test_hostile_text_cannot_steer_the_terminal() -> None:
    with typed() as screen:
        terminal_asker().say([[("", "before \x1b]0;owned\x07 \x1b[31m after \x9b31m")]])
    assert "\x1b]0;" not in screen.raw.getvalue()
    assert "before" in screen.text()


def test_colour_is_sent_to_a_terminal_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_pasted_text_becomes_one_line_without_what_steers_a_terminal(pasted: str, line: str) -> None:
    question = make_question(present="", read=lambda a, t: t)
    # A terminal ends the paste with its own mark, so none may be inside.
    with typed(f"\x1b[200~{pasted}\x1b[201~", "\r"):
        assert ask(question) == line


def test_a_pasted_password_is_hidden_although_the_address_came_in_two_lines() -> None:
    question = make_question("secret", setting="storage.postgres.db_url", present="", read=lambda a, t: t)
    with typed("\x1b[200~postgres://me:pass-\nword@db/x\x1b[201~", "\r") as screen:
        assert ask(question) == "postgres://me:pass-word@db/x"
    assert "word" not in screen.raw.getvalue()


# Down, and another interrupt, mean something of their own.
_CONTROL = [chr(code) for code in range(1, 32) if chr(code) not in "\x02\x03\x0e\x11\t\n\r\x1b"]


@pytest.mark.parametrize("key", [*_CONTROL, "\x1bx", "\x18\x05", "x", "é"], ids=repr)
def test_no_key_but_the_known_ones_answers_a_menu_or_breaks_it(key: str) -> None:
    with typed(DOWN, key, "\r", "\r"):
        assert terminal_asker().choose("Now?", BACKENDS) in ("sqlite", "postgres")


_IN_A_LINE = [key for key in _CONTROL if key != "\x02"]


@pytest.mark.parametrize("key", [*_IN_A_LINE, "\x11\x1a", "\x1b[31m", "\x85"], ids=repr)
def test_no_key_types_a_control_character_into_a_line(key: str) -> None:
    with typed("one", key, "two\r", "\r"):
        answer = ask(make_question(present="", read=lambda a, t: t))
    assert answer.isprintable()
