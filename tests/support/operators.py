"""Cohorts of tiny operators for the acceptance tests, laid out from tests/kernels/acceptance."""

import shutil
from collections.abc import Iterable
from pathlib import Path

KERNELS = Path(__file__).parents[1] / "kernels" / "acceptance"
VARIANTS = (
    "RightAdd",
    "TailAdd",
    "TwiceAdd",
    "BrokenAdd",
    "EndlessAdd",
    "CrashAdd",
    "ThrowAdd",
    "CheatAdd",
)


def lay_out(directory: Path, variant: str) -> Path:
    """Write the workspace of a variant into `directory`/`variant` and return that folder."""
    place = directory / variant
    shutil.copytree(KERNELS / "base", place)
    if (KERNELS / variant).is_dir():
        shutil.copytree(KERNELS / variant, place, dirs_exist_ok=True)
    settings = place / "operator.toml"
    settings.write_text(f'name = "{variant}"\n{settings.read_text()}')
    return place


def lay_out_cohort(directory: Path, variants: Iterable[str]) -> Path:
    """Write a cohort of variants and return its folder."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cohort.toml").write_text(
        f'name = "{directory.name}"\ndescription = "tiny operators"\nmax_elements = 10000\n'
    )
    for variant in variants:
        lay_out(directory, variant)
    return directory
