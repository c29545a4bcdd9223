"""What an operator project's build adds to its kernels: registrations, types of tensors, names of their own."""

from npu_worker.toolchains.projects import ProjectSources

HOST = """
namespace ops {
class AddCustom : public OpDef {
public:
    explicit AddCustom(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->Input("y").DataType({ge::DT_FLOAT16, ge::DT_FLOAT});  // Output("w").DataType({ge::DT_INT8});
        this->Output("z")
            .ParamType(REQUIRED)
            .DataType({ge::DT_BF16});
    }
};
OP_ADD(AddCustom);
}
"""
KERNEL = """
class Work { int one; };
extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) { Work work; }
"""
SECOND = KERNEL.replace("add_custom", "sub_custom")
FILES = {"kernel/host.cpp": HOST, "kernel/add.cpp": KERNEL}


def test_a_kernel_of_an_operator_registers_itself() -> None:
    text = ProjectSources(FILES, {}).registration("kernel/add.cpp")
    assert 'add_kernel("add_custom", 4, ::opmend_sim::Task{0, 1, false}' in text
    assert "add_custom((GM_ADDR)arguments[0], (GM_ADDR)arguments[1], " in text
    assert ProjectSources(FILES, {}).registration("kernel/host.cpp") == ""


def test_no_operator_no_registration() -> None:
    for host in (
        "",
        HOST.replace("OP_ADD(AddCustom);", "// OP_ADD(AddCustom);"),
        HOST.replace("(AddCustom);", "(Other);"),
    ):
        files = {**FILES, "kernel/host.cpp": host}
        assert ProjectSources(files, {}).registration("kernel/add.cpp") == ""
        assert ProjectSources(files, {}).variants("kernel/add.cpp") == ((),)


def test_a_kernel_that_is_only_declared_or_takes_values_is_not_registered() -> None:
    declared = KERNEL.replace("{ Work work; }", ";")
    for kernel in (declared, KERNEL.replace("GM_ADDR z", "uint32_t z")):
        assert ProjectSources({**FILES, "kernel/add.cpp": kernel}, {}).registration("kernel/add.cpp") == ""


def test_a_type_that_all_columns_share_is_defined() -> None:
    assert ProjectSources(FILES, {}).variants("kernel/add.cpp") == (
        ("-DDTYPE_X=half", "-DDTYPE_Z=bfloat16_t"),
    )
    own = {**FILES, "kernel/add.cpp": f"#define DTYPE_X float\n{KERNEL}"}
    assert ProjectSources(own, {}).variants("kernel/add.cpp") == (("-DDTYPE_Z=bfloat16_t",),)


def test_a_kernel_that_asks_for_a_type_is_compiled_for_each_combination() -> None:
    asking = (
        KERNEL.replace("Work work;", "DTYPE_Y work;") + "void add_custom_do(int n) { add_custom<<<n>>>(); }\n"
    )
    first, second = ProjectSources({**FILES, "kernel/add.cpp": asking}, {}).variants("kernel/add.cpp")
    assert first == ("-DDTYPE_X=half", "-DDTYPE_Y=half", "-DDTYPE_Z=bfloat16_t", "-DOPMEND_COLUMN=0")
    assert second == (
        "-DDTYPE_X=half",
        "-DDTYPE_Y=float",
        "-DWork=Work_of_add_1",
        "-Dadd_custom=add_custom_of_add_1",
        "-Dadd_custom_do=add_custom_do_of_add_1",
        "-DOPMEND_COLUMN=1",
    )


def test_classes_of_one_name_in_two_kernels_stay_apart() -> None:
    files = {**FILES, "kernel/sub.cpp": SECOND, "kernel/host2.cpp": HOST.replace("AddCustom", "SubCustom")}
    project = ProjectSources(files, {})
    assert "-DWork=Work_of_add" in project.variants("kernel/add.cpp")[0]
    assert "-DWork=Work_of_sub" in project.variants("kernel/sub.cpp")[0]
