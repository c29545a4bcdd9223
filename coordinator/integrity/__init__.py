"""Integrity: does the kernel do the work? A static scan of a workspace, its path trace, and a verdict."""

from coordinator.integrity.report import IntegrityReport, PathStep, Reason, Verdict
from coordinator.integrity.rules import RULES, Level, Rule
from coordinator.integrity.verdict import scan, verdict_of

__all__ = ["RULES", "IntegrityReport", "Level", "PathStep", "Reason", "Rule", "Verdict", "scan", "verdict_of"]
