"""Messages from outside as the store may keep them: no credentials, nothing that Postgres text can't carry.

Found are the forms that providers publish for their keys, keys and passwords by the name they stand behind, and
passwords in addresses. It errs towards blotting out: a failure is read for its numbers. Every alternative starts
where a word starts or looks a bounded way on, so that a hostile log costs no more than its length.
"""

import re

from schema.texts import shown

REDACTED = "[redacted]"

_SECRETS = re.compile(
    # Providers' forms.
    r"(?<![\w-])(?:"
    r"(?:sk|pk|rk)[-_][\w-]{16,}"
    r"|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|npm_\w{30,}|pypi-[\w-]{16,}|dckr_pat_[\w-]{16,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}(?!\w)|AIza[\w-]{30,}|ya29\.[\w-]{16,}|xox[abeprs]-[\w-]{10,}|SG\.[\w-]{16,}\.[\w-]{16,}"
    r"|eyJ[\w-]{10,4000}\.[\w-]{10,4000}\.[\w-]{10,}"
    r")"
    # A private key, with its end or without.
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
    # user:password@ of an address.
    r"|(?<=://)[^\s/:@]{0,200}:[^\s/@]{1,200}(?=@)"
    r"|(?i:(?<=bearer )[\w.~+/=-]{12,}|(?<=authorization: basic )[\w+/=-]{8,}"
    # What a name gives away; a digit tells a value from the words of a compiler ("unexpected token: identifier").
    r"|(?<!unexpected )(?:api[_-]?key|secret|token|passw(?:or)?d)[\w-]{0,40}"
    r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?=[^\s\"',;]{0,100}\d)[^\s\"',;]{12,})",
    re.DOTALL,
)


def redact(message: str) -> str:
    """Blot out what looks like a credential; a failure text may quote an environment or an address."""
    return _SECRETS.sub(REDACTED, message)


def storable_message(message: str) -> str:
    """A message from outside as Postgres text can carry it: redacted, U+FFFD for NUL and lone surrogates."""
    return redact(shown(message))
