"""Sets of names, written as one line of words."""


def words(*texts: str) -> frozenset[str]:
    """The words of the texts as a set."""
    return frozenset(word for text in texts for word in text.split())
