"""Texts that look like secrets are recognised, ordinary texts are not, and no secret is ever shown."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.libraries import excerpt_of

from zeroclaw_tui.memory.secret_text import find_secret_kinds, masked

MIXED = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3iJ5"
SECRETS = {
    f"sk-{MIXED}": "an API key (sk-)",
    f"sk-proj-{MIXED}_{MIXED}": "an API key (sk-)",
    f"sk-ant-api03-{MIXED}-{MIXED}": "an API key (sk-)",
    "sk-0123456789abcdef0123456789abcdef": "an API key (sk-)",
    f"sk_live_{MIXED}": "a Stripe key",
    f"ghp_{MIXED}": "a GitHub token",
    f"github_pat_11ABCDEFG0{MIXED}_{MIXED}": "a GitHub token",
    f"glpat-{MIXED[:20]}": "a GitLab token",
    "AKIAIOSFODNN7EXAMPLE": "an AWS access key",
    f"AIza{MIXED[:35]}": "a Google API key",
    "xoxb-123456789012-1234567890123-AbCdEfGhIjKl": "a Slack token",
    f"hf_{MIXED}": "a Hugging Face token",
    f"npm_{MIXED}": "an npm token",
    "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1": "a Telegram bot token",
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{MIXED}": "a JSON web token",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nb3Bl\n-----END RSA PRIVATE KEY-----": "a private key",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA": "a private key",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----": "a private key",
}
ASSIGNED = {
    ("password=", "hunter2"): "a password",
    ("DB_PASSWORD: '", "S3cr3t!pass"): "a password",
    ("The Password is password: ", "Winter2024!"): "a password",
    ("postgres://anna:", "hunter2"): "a password in an address",
    ('"api_key": "', "0a1b2c3d4e5f6a7b8c9d"): "a token or key",
    ("OPENAI_API_KEY=", "abc123def456ghi789"): "a token or key",
    ("accessToken: ", "q8w7e6r5t4y3u2i1"): "a token or key",
    ("client_secret = ", "q8w7e6r5t4y3u2i1"): "a token or key",
    ("Authorization: Bearer ", "abcdef1234567890abcdef12"): "a bearer token",
}
PASSWORD_WORDS = (
    "密码", "密碼", "口令", "パスワード", "비밀번호", "пароль", "Пароль", "ПАРОЛЬ", "contraseña", "Contraseña", "senha",
    "Senha", "mot de passe", "Mot de passe", "Passwort", "Kennwort", "wachtwoord", "hasło", "Hasło", "heslo",
    "parola", "şifre", "Şifre", "lösenord", "salasana", "κωδικός", "Κωδικός", "סיסמה", "كلمة المرور", "पासवर्ड",
    "รหัสผ่าน", "mật khẩu", "passord", "jelszó", "PASSWORT",
)  # fmt: skip
HARMLESS = (
    "The password is stored in the vault, ask Bob for it.",
    "password: ask Bob", "Passwords=secret?", "token: a small coin", "max_tokens=4096", "tokens: 123456789012",
    "sk-learn-is-a-library-with-a-name-of-many-hyphens", "task-1234567890123456789", "disk-a1b2c3d4e5f6a7b8c9d0",
    "https://example.com/path?token=next&page=3", "https://example.com:8080/@anna", "see http://host:80/a@b",
    "550e8400-e29b-41d4-a716-446655440000", "d41d8cd98f00b204e9800998ecf8427e",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "commit 3f2a9c1",
    "password=os.environ['DB']", "api_key = get_key(1234567890ab)", "password=${DB_PASSWORD}", "password=****",
    "password: <your password>", "API key: your_api_key_here_123", "secret=changeme", "token = tokenizer.next_token()",
    "Her secret: she likes ramen with extra chili and 2 eggs", "-----BEGIN CERTIFICATE-----\nMIIB", "PWD=/home/anna",
    "the access key: left drawer, blue box", "AKIA is how the names of AWS keys begin", "eyJ is how tokens begin",
    "Bearer bonds are papers that belong to whoever holds them", "call 0123456789:AAA for help", "xoxo, Anna",
    "密码: 请问 Bob", "密码：见密码本", "密码是什么", "пароль: спросить у Анны", "Пароль: Barcelona", "κωδικός: n/a",
    "mot de passe: dans-le-coffre", "Passwort: vergessen!", "Passwort: siehe KeePass", "contraseña: PENDIENTE",
    "wachtwoord: example.com", "パスワード：********", "heslo: ${HESLO_DB}", "비밀번호: 나중에", "senha: veja o cofre",
    "parola: <your-password1>", "la parola: Sampdoria", "Passwortmanager: KeePassXC", "see the sopranos: Aida1871",
    "git@github.com:anna/dotfiles.git", "ghp_ is a prefix", "session telegram_123456789 wrote at 2026-03-01T10:00:00Z",
)  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "My key is {}, do not lose it.", "KEY={}\nNEXT=1", "99999999:{}\n"])
def test_a_secret_is_recognised_by_its_form_and_hidden(secret: str, around: str) -> None:
    telegram = secret.startswith("AA")
    text = around.format(secret if not telegram or around.startswith("9") else f"12345678:{secret}")
    assert find_secret_kinds(text)[0] == SECRETS[secret]
    assert secret not in masked(text)
    assert secret.split("\n")[-1] not in masked(text)


@pytest.mark.parametrize("name", ASSIGNED, ids="".join)
def test_a_value_assigned_to_a_secret_name_is_reported_and_hidden(name: tuple[str, str]) -> None:
    lead, secret = name
    text = f"Note: {lead}{secret}" + ("@db.example.com/x" if "://" in lead else '" and more')
    assert find_secret_kinds(text) == [ASSIGNED[name]]
    assert masked(text) == text.replace(secret, "••••")


@pytest.mark.parametrize("word", PASSWORD_WORDS)
@pytest.mark.parametrize("between", [": ", "：", " = ", ":** `"])
def test_a_password_is_reported_in_any_language(word: str, between: str) -> None:
    text = f"- IP: 10.0.0.7 | root | {word}{between}Wq7xT4bV`。"
    assert find_secret_kinds(text) == ["a password"]
    assert masked(text) == text.replace("Wq7xT4bV", "••••")


@pytest.mark.parametrize(
    "text",
    ["root密码(内网)：Wq7xT4bV", "Password：Wq7xT4bV", "パスワードは「Wq7xT4bV」です", "**Hasło** (VPN): Wq7xT4bV"],
)
def test_a_password_is_reported_within_a_sentence(text: str) -> None:
    assert masked(text) == text.replace("Wq7xT4bV", "••••")


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_no_secret(text: str) -> None:
    assert find_secret_kinds(text) == []
    assert find_secret_kinds(f"Anna said: {text} (yesterday)") == []


@given(st.text(alphabet=string.ascii_letters + " .,:;-_/()\n", max_size=400))
def test_words_without_a_digit_are_hardly_ever_secrets(text: str) -> None:
    """Only a private key's armour, a password in a URL or one with capitals can be one."""
    assert set(find_secret_kinds(text)) <= {"a private key", "a password", "a password in an address"}


@given(st.text(max_size=300), st.sampled_from(sorted(SECRETS)), st.text(max_size=300))
def test_a_masked_text_has_no_secret_at_any_position(before: str, secret: str, after: str) -> None:
    lead = "12345678:" if secret.startswith("AA") else ""
    assert secret not in masked(f"{before} {lead}{secret} {after}")


@pytest.mark.parametrize("ahead", [0, 100, 380, 395, 3980, 3995, 4100])
def test_an_excerpt_never_ends_within_a_secret(ahead: int) -> None:
    """Whole rows are cut at 4,000 characters, listed rows at 400."""
    secret = f"sk-{MIXED}{MIXED}"
    text = "x " * (ahead // 2) + secret + " end"
    for shown in (excerpt_of(text), excerpt_of(text[:400], is_cut=True)):
        assert secret[:16] not in shown
