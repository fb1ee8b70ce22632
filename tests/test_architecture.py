"""Imports run one way: gateway, nets and the model repository know the kernel; the kernel knows none of them."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"gateway", "nets", "plates", "benchmarks", "tests", "model_repository"}

MAY_IMPORT = {
    "plates": {"plates"},
    "gateway": {"gateway", "plates"},
    "nets": {"nets", "plates"},
    "model_repository": {"plates"},
}
"""Which of our packages each of them may import."""

TRITON_BACKENDS = "gateway/triton/backends"
"""Programs of Triton's Python backend, started by it and never imported by the gateway."""


def python_files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """Yield the full name of every module that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it leads"
            assert node.module is not None
            yield node.module


def imported_packages(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


def third_party(path: Path) -> set[str]:
    return imported_packages(path) - OURS - sys.stdlib_module_names


def outside(folder: str, package: str) -> list[Path]:
    return [path for path in python_files(package) if not path.is_relative_to(ROOT / folder)]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_run_one_way(package: str) -> None:
    assert python_files(package)
    for path in python_files(package):
        assert imported_packages(path) & OURS <= MAY_IMPORT[package], path


def test_the_kernel_needs_arrays_and_images_only() -> None:
    # plates.bls is what Triton's Python models share; their server brings that module. PyTorch is for those on a GPU.
    more = {"bls.py": {"triton_python_backend_utils", "torch"}, "torch_geometry.py": {"torch"}}
    for path in python_files("plates"):
        assert third_party(path) <= {"numpy", "cv2"} | more.get(path.name, set()), path


def test_the_kernel_is_imported_without_pytorch() -> None:
    names = [f"plates.{path.stem}" for path in python_files("plates") if path.stem not in ("bls", "torch_geometry")]
    program = (
        f"import sys, importlib; [importlib.import_module(name) for name in {names}]; print('torch' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "False"


def test_the_gateway_knows_no_network() -> None:
    for path in outside(TRITON_BACKENDS, "gateway"):
        assert not imported_packages(path) & {"torch", "onnx", "onnxruntime", "pytriton"}, path


def test_only_gateway_triton_speaks_to_triton() -> None:
    for path in outside("gateway/triton", "gateway"):
        assert not imported_packages(path) & {"tritonclient", "grpc"}, path


def test_the_http_side_reaches_triton_through_the_recognizer_alone() -> None:
    for path in python_files("gateway/routes"):
        assert not any(name.startswith("gateway.triton") for name in imports(path)), path


def test_tritons_models_need_what_its_image_installs() -> None:
    installed = {"cv2" if name == "opencv-python-headless" else name for name in pinned("triton.txt")}
    for path in python_files("model_repository"):
        assert third_party(path) <= installed | {"triton_python_backend_utils"}, path


def pinned(requirements: str) -> set[str]:
    return set(re.findall(r"^([\w-]+)==", (ROOT / "requirements" / requirements).read_text(), re.MULTILINE))
