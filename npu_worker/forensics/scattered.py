"""No pattern that the other classes know."""

from npu_worker.forensics.sample import OutputSample
from npu_worker.forensics.sign import Sign, percent, rounded


def detect(sample: OutputSample) -> Sign:
    """Always fits; used where nothing else does."""
    share = percent(sample.rate)
    text = f"{sample.wrong} of {sample.total} elements ({share}) are wrong, without a pattern in place or size"
    return Sign(hint="scattered", text=text, evidence={"mismatch_rate": rounded(sample.rate)})
