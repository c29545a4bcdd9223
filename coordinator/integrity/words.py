"""Sets of names, written as one line of words."""


def words(text: str) -> frozenset[str]:
    """The words of `text` as a set."""
    return frozenset(text.split())
