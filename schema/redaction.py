"""Messages from outside as the store may keep them: no credentials, nothing that Postgres text can't carry."""

import re

_SECRETS = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}|\bxox[abprs]-[\w-]{10,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
    r"|(?i:(?<=bearer )[\w.~+/=-]{12,}"
    r"|(?:api[_-]?key|secret|token|passw(?:or)?d)(?:[\"']?\s*[=:]\s*[\"']?)(?=\S*\d)[^\s\"',;]{12,})",
    re.DOTALL,
)


def redact(message: str) -> str:
    """Blot out what looks like a credential; a failure text may quote an environment or an address."""
    return _SECRETS.sub("[redacted]", message)


def storable_message(message: str) -> str:
    """A message from outside as Postgres text can carry it: redacted, no NUL, no lone surrogates."""
    return redact(message.replace("\0", "\ufffd").encode("utf-8", "replace").decode())
