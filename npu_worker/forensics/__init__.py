"""What the pattern of deviations says about the bug (classes: research/npukernelbench.md).

    observation = observe(comparison, case, index=index)   # for each compared case, passing ones too; keeps no tensor
    forensics = analyse(observations)                      # None where nothing failed

One module a class, each with a pure `detect(OutputSample) -> Sign | None`; to add one, write such a module, name
its class in sign.HINTS and put it in observe.DETECTORS at its place.
"""

from npu_worker.forensics.across import CaseFacts, case_facts
from npu_worker.forensics.analyse import analyse
from npu_worker.forensics.observe import Observation, observe
from npu_worker.forensics.sample import OutputSample, sample_output
from npu_worker.forensics.sign import HINTS, Sign

__all__ = [
    "HINTS",
    "CaseFacts",
    "Observation",
    "OutputSample",
    "Sign",
    "analyse",
    "case_facts",
    "observe",
    "sample_output",
]
