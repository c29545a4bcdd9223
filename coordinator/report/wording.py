"""Numbers as people read them."""


def seconds(value: float) -> str:
    """A duration for people: 0.4 s, 12 s, 3 min 05 s."""
    if value < 10:
        return f"{value:.1f} s"
    if value < 60:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def rate(value: float | None) -> str:
    """A match rate for people: 64.7 %, or – where no case ran. A rate below 1 never reads as 100 %."""
    if value is None:
        return "–"
    shown = round(100 * value, 1)
    if value < 1 and shown == 100.0:
        shown = 99.9
    return f"{shown:g} %"
