"""Detecting and masking texts that look like secrets, with a pattern for each kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from zeroclaw_tui.memory.text import HIDDEN, mask_secrets

_MAX_MATCHES = 50
_SYMBOL_OR_HUMP = re.compile(r"[!@#$%^&*~?]|[a-z][A-Z]")
_PLACEHOLDER = re.compile(
    r"(?i)\A(?:your|my|the|some|example|sample|test|dummy|change_?me|replace|insert|placeholder|redacted|hidden|secret"
    r"|password|passwd|token|api_?key|none|null|nil|true|false|undefined|todo|input|env|process|os|self|settings|config"
    r"|getenv|required|optional|string|str|bytes)(?![a-z0-9])|[*•…]{2}|\.\.\.|x{4}|\A[$%<{(\[]"
)
_PASSWORD_WITH_CASE = (
    "contraseña", "contrasena", "contrasenya", "senha", "mot de passe", "passwort", "kennwort", "wachtwoord", "passord",
    "adgangskode", "lösenord", "losenord", "salasana", "parool", "hasło", "haslo", "heslo", "geslo", "lozinka",
    "slaptažodis", "jelszó", "parola", "parolă", "parole", "şifre", "sifre", "kata sandi", "mật khẩu", "пароль",
    "парола", "лозинка", "κωδικός", "κωδικος",
)  # fmt: skip
_PASSWORD_WITHOUT_CASE = (
    "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "패스워드", "รหัสผ่าน", "पासवर्ड", "পাসওয়ার্ড",
    "סיסמה", "סיסמא", "كلمة المرور", "كلمة السر", "رمز عبور", "گذرواژه",
)  # fmt: skip
"""The word for password in other languages; English has its own pattern, which includes names in programs."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """One kind of secret. `pattern` has a group `secret`, and is only used for texts that contain one of `literals` in
    lower case, because most texts do not. `holds` checks the secret once more.
    """

    name: str
    literals: tuple[str, ...]
    pattern: str
    holds: Callable[[str], bool] = bool

    def places(self, text: str, lowered: str) -> Iterator[tuple[int, int]]:
        """Find secrets of this kind in a text; `lowered` is the text in lower case."""
        if not any(map(lowered.__contains__, self.literals)):
            return
        at = 0
        while found := re.compile(self.pattern).search(text, at):
            is_secret = self.holds(found["secret"])
            if is_secret:
                yield found.span("secret")
            at = found.end() if is_secret else found.start() + 1


def find_secret_kinds(text: str) -> list[str]:
    """List the distinct kinds of secrets that a text seems to contain, such as "an API key (sk-)"; empty if none."""
    names: list[str] = []
    covered: list[tuple[int, int]] = []
    lowered = text.lower()
    for shape in _SHAPES:
        places = list(islice(shape.places(text, lowered), _MAX_MATCHES))
        if any(not any(start < end and begin < stop for begin, end in covered) for start, stop in places):
            names += [shape.name] if shape.name not in names else []
        covered += places
    return names


def masked(text: str) -> str:
    """Replace everything in a text that looks like a secret by four dots."""
    shown: list[str] = []
    lowered, end = text.lower(), 0
    for start, stop in sorted(place for shape in _SHAPES for place in shape.places(text, lowered)):
        if start > end or not shown:
            shown += [text[end:start], HIDDEN]
        end = max(end, stop)
    return mask_secrets("".join([*shown, text[end:]]))


def _is_random(secret: str) -> bool:
    """Whether a part of it is long and mixes letters with digits, unlike hyphenated words."""
    runs = re.split(r"[-_.]", secret)
    return any(len(run) >= 12 and sum(map(str.isdigit, run)) >= 2 and not run.isdigit() for run in runs)


def _has_digit(secret: str) -> bool:
    return any(map(str.isdigit, secret))


def _is_password(value: str) -> bool:
    """Whether a value is not a placeholder, a variable or a keyword of a programming language."""
    return _PLACEHOLDER.search(value) is None and len(set(value)) >= 4


def _is_token(value: str) -> bool:
    """Whether a value also mixes letters and digits: `token: next` and `token=12345678` are not secrets."""
    return _is_password(value) and _has_digit(value) and any(map(str.isalpha, value))


def _is_password_near_words(value: str) -> bool:
    """Whether a value in prose is a password, and not a word or a name: it needs a digit, a symbol or mixed case."""
    word = value.rstrip(".!?")
    return _is_password(value) and (_has_digit(word) or _SYMBOL_OR_HUMP.search(word) is not None)


def _assigned(names: str, shortest: int) -> str:
    """The pattern of a name, `=` or `:`, and a plain value that is not a call, an address or a variable."""
    return (
        rf"""(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?:{names})(?![A-Za-z0-9])["'`]?"""
        rf"""[ \t]{{0,3}}[:=：＝][ \t]{{0,3}}["'`]?(?P<secret>{_KEYBOARD}{{{shortest},400}}+){_NO_CALL}"""
    )


def _token(name: str, literals: tuple[str, ...], pattern: str, holds: Callable[[str], bool] = bool) -> _Shape:
    """The kind of secrets that are words beginning with one of `literals`."""
    return _Shape(name, literals, rf"(?<![A-Za-z0-9])(?P<secret>{pattern})(?![A-Za-z0-9_])", holds)


_KEYBOARD = r"[A-Za-z0-9_.+/=!@#$%^&*~?\-]"
_NO_CALL = r"(?![A-Za-z0-9_(\[{@:])"
_WITH_CASE, _WITHOUT_CASE = "|".join(_PASSWORD_WITH_CASE), "|".join(_PASSWORD_WITHOUT_CASE)
_NEAR_WORDS = (
    rf"""(?:(?<![^\W\d_])(?i:{_WITH_CASE})(?![^\W\d_])|{_WITHOUT_CASE})[*_"'`]{{0,3}}"""
    r"""(?:[ ]?[(（][^()（）\n]{1,30}[)）])?[ \t\u3000]{0,3}(?:[:=：＝]|是|为|為|は)[*_]{0,3}[ \t\u3000]{0,3}"""
    rf"""["'`「『“]?(?P<secret>{_KEYBOARD}{{6,400}}+){_NO_CALL}"""
)
"""A word for password, possibly emphasised, a colon or "is", and a value of keyboard characters. In scripts with blanks
between words, there is no letter next to the word."""
_SHAPES = (
    _Shape(
        "a private key", ("-----begin ",),
        r"(?P<secret>-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[\s\S]{0,8000}?-----END [A-Z0-9 ]{0,40}-----|[A-Za-z0-9+/=\s\\]*))",
    ),
    _token("an AWS access key", ("akia", "asia"), "A[KS]IA[A-Z2-7]{16}"),
    _token("an API key (sk-)", ("sk-",), "sk-[A-Za-z0-9_-]{16,400}+", _is_random),
    _token(
        "a Stripe key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"),
        "(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,200}+", _has_digit,
    ),
    _token(
        "a GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        "gh[pousr]_[A-Za-z0-9]{30,255}+|github_pat_[A-Za-z0-9_]{40,255}+",
    ),
    _token("a GitLab token", ("glpat-",), "glpat-[A-Za-z0-9_-]{18,200}+"),
    _token("a Google API key", ("aiza",), "AIza[A-Za-z0-9_-]{35}"),
    _token("a Slack token", ("xox",), "xox[abeprs]-[A-Za-z0-9-]{10,300}+", _has_digit),
    _token("a Hugging Face token", ("hf_",), "hf_[A-Za-z0-9]{30,80}+"),
    _token("an npm token", ("npm_",), "npm_[A-Za-z0-9]{36}"),
    _Shape("a Telegram bot token", (":aa",), r"(?<=[0-9]{8}):(?P<secret>AA[A-Za-z0-9_-]{32,34})(?![A-Za-z0-9_-])"),
    _Shape(
        "a JSON web token", ("eyj",),
        r"(?<![A-Za-z0-9_-])(?P<secret>eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,900})",
    ),
    _Shape(
        "a bearer token", ("bearer ",),
        r"(?i)(?<![a-z])bearer[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{20,4000})", _is_random,
    ),
    _Shape(
        "a password in an address", ("://",),
        r"(?<=[a-z0-9])://[^\s:/@\"'<>]{0,100}:(?P<secret>[^\s@/\"'<>]{3,200})@(?=[A-Za-z0-9\[])", _is_password,
    ),
    _Shape(
        "a password", ("password", "passwd", "passphrase"),
        _assigned("[Pp]ass(?:word|wd|phrase)|PASS(?:WORD|WD|PHRASE)", 6),
        lambda value: _is_password(value) and not (value.isalpha() and value.islower()),
    ),
    _Shape("a password", (*_PASSWORD_WITH_CASE, *_PASSWORD_WITHOUT_CASE), _NEAR_WORDS, _is_password_near_words),
    _Shape(
        "a token or key",
        ("secret", "token", "api_key", "apikey", "api-key", "api key", "access_key", "accesskey", "access-key"),
        _assigned(
            "[Ss]ecret(?:[_-]?(?:access[_-]?)?key)?|SECRET(?:_(?:ACCESS_)?KEY)?|[Tt]oken|TOKEN"
            "|[Aa][Pp][Ii][ _-]?[Kk](?:ey|EY)|[Aa]ccess[_-]?[Kk]ey|ACCESS_KEY", 12,
        ),
        _is_token,
    ),
)  # fmt: skip
"""Specific kinds first: "a token or key" is only reported if the value matches no specific kind."""
