"""NaN or Inf where the reference is finite, or the other way round."""

from npu_worker.forensics.sample import OutputSample
from npu_worker.forensics.sign import Sign, percent


def detect(sample: OutputSample) -> Sign | None:
    """Fits where a single element is contaminated; leads unless the values are merely memory that nobody wrote."""
    if not sample.not_finite and not sample.lost_not_finite:
        return None
    evidence = {"not_finite": sample.not_finite, "lost_not_finite": sample.lost_not_finite}
    if not sample.not_finite:
        text = f"the reference is NaN or Inf at {sample.lost_not_finite} elements where the kernel gives finite values"
        return Sign(hint="nan_inf_contamination", text=text, evidence=evidence)
    share = sample.not_finite / sample.total
    text = f"{sample.not_finite} elements ({percent(share)}) are NaN or Inf where the reference is finite"
    # Poison is NaN by design: where it is all there is, WHERE it lies says more than THAT it is NaN.
    mere_poison = sample.poisoned >= 0.9 * min(1.0, sample.not_finite / max(sample.wrong, 1))
    return Sign(hint="nan_inf_contamination", text=text, evidence=evidence, leading=not mere_poison)
