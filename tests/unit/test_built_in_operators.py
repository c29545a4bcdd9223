"""A workspace's operator must not have a name that an installation brings along, however it is written."""

import pytest

from coordinator.integrity.built_in_operators import BUILT_IN_OPERATORS, is_built_in


@pytest.mark.parametrize(
    "name", ["Add", "AddV2", "InplaceAdd", "Softmax", "SoftMax", "LayerNorm", "MatMulV3", "add"]
)
def test_a_name_of_an_installation_is_known_in_its_spellings(name: str) -> None:
    assert is_built_in(name)


@pytest.mark.parametrize("name", ["AddCustom", "SoftmaxCustom", "MyGelu", "Inplace"])
def test_a_name_of_a_workspace_is_its_own(name: str) -> None:
    assert not is_built_in(name)


def test_the_names_are_operator_types() -> None:
    assert all(name.isidentifier() and name[0].isupper() for name in BUILT_IN_OPERATORS)
