import pytest

from schema.errors import CaseFileError, WorkspaceError
from schema.workspace import Workspace, check_path

MODEL = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
ADAPTER = (
    "import torch\nfrom torch import nn\nimport _twice_ext\n"
    "class ModelNew(nn.Module):\n    def forward(self, x):\n        return _twice_ext.run(x)\n"
)
CASES = 'inputs = [{name = "x", kind = "tensor"}]\ncases = [["float32[8]"]]\n'
LINE = '{"inputs": [{"name": "x", "type": "tensor", "required": true, "dtype": "float32", "shape": [8]}]}\n'
FACTS = """
name = "Twice"
level = "L1"
category = "elementwise"
tolerance = "kernelbench"
seed = 7
source = "a paper"
[inputs.x]
distribution = "uniform"
low = 0
high = 1
"""


def files(**changes):
    texts = {
        "model.py": MODEL,
        "model_new_ascendc.py": ADAPTER,
        "cases.toml": CASES,
        "kernel/pybind11.cpp": "// bindings\n",
        "kernel/twice.cpp": "// kernel\n",
        "operator.toml": FACTS,
    }
    for path, text in changes.items():
        path = path.replace("__", "/").replace("_dot_", ".")
        if text is None:
            del texts[path]
        else:
            texts[path] = text
    return texts


def write(root, texts):
    for path, text in texts.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


def test_a_workspace_says_what_operator_toml_says():
    found = Workspace.from_files(files())
    assert (found.name, found.level, found.category) == ("Twice", "L1", "elementwise")
    assert (found.tolerance, found.seed, found.source) == ("kernelbench", 7, "a paper")
    assert found.extension == "_twice_ext"
    assert found.kernel_paths == ("kernel/pybind11.cpp", "kernel/twice.cpp")
    assert len(found.cases) == 1
    assert "x" in found.rules
    assert Workspace.model_validate_json(found.model_dump_json()) == found


def test_all_of_operator_toml_is_optional_and_the_directory_gives_the_name(tmp_path):
    root = write(tmp_path / "Twice Over", files(operator_dot_toml=None))
    found = Workspace.from_directory(root)
    assert found.name == "Twice Over"
    assert (found.level, found.category, found.tolerance) == ("", "other", "mere_mare")


def test_the_upstream_case_file_is_read_and_gives_the_name():
    texts = files(cases_dot_toml=None, operator_dot_toml=None)
    texts["3_Twice.json"] = LINE * 2
    found = Workspace.from_files(texts)
    assert (found.name, len(found.cases), found.case_file) == ("Twice", 2, "3_Twice.json")


def test_builds_hidden_files_and_binaries_are_no_part_of_it(tmp_path):
    root = write(tmp_path, files())
    write(
        root,
        {"kernel/build/_twice_ext.so": "x", ".git/config": "x", "__pycache__/a.py": "x", "kernel/a.o": "x"},
    )
    (root / "kernel" / "b.so").write_bytes(b"\xff\xfe\0")
    assert Workspace.from_directory(root).files == files()


def test_bindings_may_stand_where_operator_projects_have_them():
    bound = "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}"
    found = Workspace.from_files(files(kernel__pybind11_dot_cpp=None, kernel__CppExtension__op_dot_cpp=bound))
    assert found.kernel_paths == ("kernel/CppExtension/op.cpp", "kernel/twice.cpp")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_dot_py": None}, "no model.py"),
        ({"model_new_ascendc_dot_py": None}, "no model_new_ascendc.py"),
        ({"model_new_ascendc_dot_py": "class Other: pass"}, "model_new_ascendc.py: no class ModelNew"),
        ({"model_new_ascendc_dot_py": "x = 1\ndef f(:\n"}, "model_new_ascendc.py:2: no Python"),
        ({"model_dot_py": "class ModelNew: pass"}, "no class Model;"),
        ({"kernel__pybind11_dot_cpp": None}, "pybind11.cpp"),
        ({"cases_dot_toml": None}, "no case file"),
        ({"operator_dot_toml": 'name = "x"\nlevel = '}, "operator.toml:2: broken TOML"),
        ({"operator_dot_toml": "nmae = 'x'"}, "nmae"),
        ({"operator_dot_toml": "seed = -1"}, "seed"),
        ({"operator_dot_toml": "category = 'magic'"}, "magic"),
        ({"operator_dot_toml": "tolerance = 'loose'"}, "loose"),
        ({"operator_dot_toml": "level = 1"}, "level"),
        ({"operator_dot_toml": "[inputs.y]\ndistribution = 'normal'"}, "inputs.y"),
        ({"operator_dot_toml": "[inputs.x]\ndistribution = 'zipf'"}, "zipf"),
    ],
)
def test_a_missing_or_broken_part_is_named_with_how_to_mend_it(changes, said):
    with pytest.raises(WorkspaceError) as caught:
        Workspace.from_files(files(**changes))
    assert said in str(caught.value)
    assert caught.value.mend
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("cell", "rule", "said"),
    [
        ("int32[8]", "distribution = 'normal'", "normal does not fit int32"),
        ("bool[8]", "distribution = 'uniform'\nlow = 0\nhigh = 1", "uniform does not fit bool"),
        ("int8[8]", "distribution = 'integers'\nlow = 0\nhigh = 300", "do not fit int8"),
        ("int32[8]", "distribution = 'integers'\nlow = 'x.shape[0]'\nhigh = 4", "nothing lies from 8"),
        ("int32[8]", "distribution = 'integers'\nhigh = 'y.shape[0]'", "no tensor y"),
        ("uint8[300]", "distribution = 'arange'", "do not fit uint8"),
        ("int8[300]", "distribution = 'permutation'", "do not fit int8"),
    ],
)
def test_a_rule_that_does_not_fit_a_case_is_told_before_anything_runs(cell, rule, said):
    cases = f'inputs = [{{name = "x", kind = "tensor"}}]\ncases = [["float32[8]"], ["{cell}"]]\n'
    if "y.shape" not in rule and "normal" not in rule and "uniform" not in rule:
        cases = cases.replace('["float32[8]"]', f'["{cell}"]')
    with pytest.raises(WorkspaceError) as caught:
        Workspace.from_files(files(cases_dot_toml=cases, operator_dot_toml=f"[inputs.x]\n{rule}\n"))
    assert "operator.toml [inputs.x], case " in str(caught.value)
    assert said in str(caught.value)
    ranged = cases.replace(f'["{cell}"]', f'["{cell} in 0..1"]').replace(
        '["float32[8]"]', f'["{cell} in 0..1"]'
    )
    assert Workspace.from_files(files(cases_dot_toml=ranged, operator_dot_toml=f"[inputs.x]\n{rule}\n")).rules


def test_a_range_that_does_not_fit_its_dtype_is_told_before_anything_runs():
    cases = CASES.replace("float32[8]", "uint8[8] in 0..256")
    with pytest.raises(CaseFileError, match=r"cases\.toml: case 0: 0\.\.256 does not fit uint8"):
        Workspace.from_files(files(cases_dot_toml=cases, operator_dot_toml=""))


def test_a_broken_case_file_is_named_with_its_line(tmp_path):
    texts = files(cases_dot_toml=None)
    texts["Twice.json"] = LINE + '{"inputs": [}\n'
    root = write(tmp_path / "op", texts)
    with pytest.raises(CaseFileError) as caught:
        Workspace.from_directory(root)
    assert str(caught.value).startswith(f"{root}/Twice.json:2: broken JSON")


def test_two_case_files_are_one_too_many_unless_one_has_the_name():
    texts = files(cases_dot_toml=None)
    texts |= {"a.json": LINE, "twice.json": LINE * 3}
    assert len(Workspace.from_files(texts).cases) == 3
    texts["operator.toml"] = ""
    with pytest.raises(WorkspaceError, match="several case files"):
        Workspace.from_files(texts)


def test_links_out_of_the_workspace_are_refused(tmp_path):
    secret = tmp_path / "secret.h"
    secret.write_text("key")
    root = write(tmp_path / "op", files())
    (root / "kernel" / "secret.h").symlink_to(secret)
    with pytest.raises(WorkspaceError, match="leads out"):
        Workspace.from_directory(root)
    (root / "kernel" / "secret.h").unlink()
    (root / "kernel" / "all").symlink_to(tmp_path)
    with pytest.raises(WorkspaceError, match="leads out"):
        Workspace.from_directory(root)
    (root / "kernel" / "all").unlink()


def test_a_workspace_that_is_no_directory_or_too_large_is_refused(tmp_path, monkeypatch):
    with pytest.raises(WorkspaceError, match="no such workspace"):
        Workspace.from_directory(tmp_path / "nowhere")
    root = write(tmp_path / "op", files())
    monkeypatch.setattr("schema.directory.MOST_FILE_BYTES", 10)
    with pytest.raises(WorkspaceError, match="too large"):
        Workspace.from_directory(root)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "kernel/../../x", "a//b", "a\\b", "", "kernel/\0"])
def test_paths_that_could_leave_a_workspace_are_refused(path):
    with pytest.raises(WorkspaceError):
        check_path(path)


def test_the_extension_is_what_the_adapter_imports_or_what_the_convention_says():
    dotted = files(model_new_ascendc_dot_py="import kernel.build._other_ext as e\nclass ModelNew: pass\n")
    assert Workspace.from_files(dotted).extension == "_other_ext"
    named = files(model_new_ascendc_dot_py='NAME = "_late_ext"\nclass ModelNew: pass\n')
    assert Workspace.from_files(named).extension == "_late_ext"
    silent = files(model_new_ascendc_dot_py="class ModelNew: pass\n")
    assert Workspace.from_files(silent).extension == "_twice_ext"
