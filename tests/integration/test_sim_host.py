"""What a kernel's host side needs: tiling data on both sides, torch's operator library, the host runtime."""

from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.support.extension import compiled, loaded, sources
from tests.support.proof import proves

KERNELS = Path(__file__).parent.parent / "kernels" / "host"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    work = tmp_path_factory.mktemp("host")
    return loaded(compiled(sources(KERNELS), "_sim_host_ext", work))


@proves(
    "host/scale_tiling.h",
    """BEGIN_TILING_DATA_DEF TILING_DATA_FIELD_DEF TILING_DATA_FIELD_DEF_ARR TILING_DATA_FIELD_DEF_STRUCT
    END_TILING_DATA_DEF REGISTER_TILING_DATA_CLASS register/tilingdata_base.h""",
)
@proves("host/scale_custom.cpp", "TILING_KEY_IS")
def test_kernel_sees_the_tiling_struct_that_the_host_registered(host: ModuleType) -> None:
    x = torch.arange(10, dtype=torch.float32)
    assert torch.equal(host.scale(x, 2.5), x * 2.5 + (10 + 1 + 20))


@proves(
    "host/forms.cpp",
    """REGISTER_TILING_DEFAULT GET_TILING_DATA GET_TILING_DATA_WITH_STRUCT GET_TILING_DATA_MEMBER
    COPY_TILING_WITH_STRUCT COPY_TILING_WITH_ARRAY""",
)
@pytest.mark.parametrize("form", range(7))
def test_every_way_to_tiling_data(host: ModuleType, form: int) -> None:
    assert host.form(form) == 42


def test_a_tiling_buffer_that_is_too_short_is_named(host: ModuleType) -> None:
    with pytest.raises(
        RuntimeError, match=r"^gm-read-out-of-range: tiling data of 8 bytes in a tensor of 4 bytes"
    ):
        host.too_short()


@proves("host/pybind11.cpp", "TORCH_LIBRARY TORCH_LIBRARY_IMPL")
def test_operators_of_torch_s_library(host: ModuleType) -> None:
    x = torch.arange(10, dtype=torch.float32)
    assert torch.equal(torch.ops.opmend_host_test.scale(x, 2.5), host.scale(x, 2.5))
    assert torch.equal(torch.ops.opmend_host_test.scale(factor=2.5, x=x), host.scale(x, 2.5))
    assert torch.equal(torch.ops.opmend_host_test.ones_of(x, x, [2, 3], 4.0), torch.full((2, 3), 4.0))
    assert torch.equal(torch.ops.opmend_host_test.ones_of(x, None, [1], 4.0), torch.full((1,), -4.0))


def test_dispatch_over_scalar_types(host: ModuleType) -> None:
    names = [
        host.dispatched(torch.zeros(1, dtype=kind)) for kind in (torch.float32, torch.float16, torch.float64)
    ]
    assert names == ["4f", "2", "8"]
    with pytest.raises(RuntimeError, match="\"dispatched\" not implemented for 'Int'"):
        host.dispatched(torch.zeros(1, dtype=torch.int32))
