"""What is blotted out of messages, what is kept, and that no message is too long for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.redaction import REDACTED, redact, storable_message

# Put together here, so that no scanner of sources takes an example for a leak.
SECRETS = [
    "sk-" + "abcdefghijklmnopqrstuv",
    "sk-ant-" + "api03-abcdefghijklmnop",
    "sk_live_" + "abcdefghijklmnopqrst",
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1" * 20,
    "glpat-" + "a1b2c3d4e5f6g7h8i9j0",
    "hf_" + "aB" * 17,
    "npm_" + "aB" * 18,
    "AKIA" + "ABCDEFGH12345678",
    "AIza" + "a1" * 18,
    "xoxb-" + "1234567890-abcdef",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE " + "KEY-----\nMIIE that a log cut off",
]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret[:10])
@pytest.mark.parametrize("form", ["{}", "error: {} left", "KEY={}\n", '{{"k": "{}"}}', "({})"])
def test_a_credential_goes(secret: str, form: str) -> None:
    found = redact(form.format(secret))
    assert REDACTED in found
    assert secret[-8:] not in found
    assert found.startswith(form.split("{}")[0].replace("{{", "{")[:6])


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("postgresql://user:secret@host/db", "postgresql://[redacted]@host/db"),
        ("redis://:hunter2@host:6379/0", "redis://[redacted]@host:6379/0"),
        ("Authorization: Bearer abcdef.ghijkl-mnop", "Authorization: Bearer [redacted]"),
        ("authorization: basic dXNlcjpwYXNz", "authorization: basic [redacted]"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI1K7MDENG", "AWS_[redacted]"),
        ("OPENAI_API_KEY = 'abcdef123456789'", "OPENAI_[redacted]'"),
        ('{"password": "correct1horse2battery"}', '{"[redacted]"}'),
        ("token=abcdefgh12345678 next", "[redacted] next"),
    ],
)
def test_what_stands_behind_a_telling_name_goes(message: str, kept: str) -> None:
    assert redact(message) == kept


@pytest.mark.parametrize(
    "message",
    [
        "error: unexpected token: identifier",
        "error: unexpected token: some_identifier_2 here",
        "expected 1.5, got 2.5",
        "max |actual - expected| 3.4e38 at [6, 127]",
        "kernel/add.cpp:12:5: error: 'token' was not declared in this scope",
        "secret: none",
        "tokens=4096",
        "password:",
        "http://host:8080/path@2",
        "task-skip-everything-in-here",
        "sk-short",
        "DataCopyPad(xLocal, xGm[offset], params)",
    ],
)
def test_what_a_failure_says_stays(message: str) -> None:
    assert redact(message) == message


@pytest.mark.parametrize(
    "piece",
    ["eyJ-", "eyJaaaaaaaaaa.", "token=", "secret ", "sk-", "://a:", "-----BEGIN ", "-----BEGIN PRIVATE " + "KEY-----",
     "bearer ", "AKIA", "password: ", "SG.aaaaaaaaaaaaaaaa.", "a-", "api_key-"],
    ids=lambda piece: piece[:12],
)  # fmt: skip
def test_a_hostile_log_costs_no_more_than_its_length(piece: str) -> None:
    # A cost that grows with the square of the length would not come back within the hour.
    assert redact(piece * (1_000_000 // len(piece)))


@given(st.text(alphabet=st.characters(codec=None), max_size=40))
def test_a_stored_message_is_text_and_stays_what_it_is(message: str) -> None:
    once = storable_message(message)
    once.encode()
    assert "\0" not in once
    assert storable_message(once) == once
