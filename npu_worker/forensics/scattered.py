"""No pattern that the other classes know; at most the stretch in which the wrong elements lie."""

from npu_worker.forensics.sample import OutputSample
from npu_worker.forensics.sign import Sign, percent, rounded

LEAST_INSIDE = 0.9


def detect(sample: OutputSample) -> Sign:
    """Always fits; used where nothing else does."""
    share = percent(sample.rate)
    text = (
        f"{sample.wrong} of {sample.total} elements ({share}) are wrong, without a pattern in place or size"
    )
    evidence: dict[str, object] = {"mismatch_rate": rounded(sample.rate)}
    first, last = int(sample.places[0]), int(sample.places[-1])
    inside = sample.wrong / (last - first + 1)
    if sample.wrong > 8 and inside > LEAST_INSIDE and last - first + 1 < sample.total:
        text = (
            f"{sample.wrong} of {sample.total} elements ({share}) are wrong; they form one stretch,"
            f" from element {first} to about {last}"
        )
        evidence["stretch"] = [first, last]
    return Sign(hint="scattered", text=text, evidence=evidence)
