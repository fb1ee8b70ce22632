"""The Dockerfiles as they are written; test_images.py runs them."""

import re
import shlex
from pathlib import Path

import pytest

from gateway.settings import Settings
from tests.deploy.dockerfile import DEPLOY, ROOT, context, copied, parse, sent, stage

DOCKERFILES = sorted(DEPLOY.glob("*.Dockerfile"))


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_everything_that_is_copied_exists_and_is_sent_to_the_build(path: Path) -> None:
    earlier: set[str] = set()
    for part in parse(path):
        for arguments in part.all("COPY"):
            origin = re.search(r"--from=(\S+)", arguments)
            if origin:
                assert origin[1] in earlier
            else:
                for source in copied(arguments)[0]:
                    assert context(source), f"COPY {source}"
        earlier.add(part.name)


@pytest.mark.parametrize(
    "path", ["docs/architecture.md", ".env", ".git/config", "tests/x.py", "gateway/__pycache__/app.pyc", "Makefile"]
)
def test_what_no_image_needs_is_not_sent_to_the_build(path: str) -> None:
    assert not sent(path)


def test_torchscript_comes_from_the_build_and_not_from_a_working_copy() -> None:
    assert sent("model_repository/stn/1/model.onnx")
    assert not sent("model_repository/stn/1/model.pt")
    assert "RUN /opt/venv/bin/python -m nets.export" in (DEPLOY / "triton.Dockerfile").read_text()


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_base_images_are_pinned(path: Path) -> None:
    stages = parse(path)
    for base in {part.base for part in stages} - {part.name for part in stages}:
        assert re.search(r":\d+\.\d+[\w.-]*$", base), base


def test_triton_is_newer_than_its_known_holes() -> None:
    release = re.search(r"tritonserver:(\d+)\.(\d+)-py3", stage("triton.Dockerfile", "cpu").base)
    assert release is not None
    assert (int(release[1]), int(release[2])) >= (25, 7)


def test_both_images_run_as_the_same_user_that_is_not_root() -> None:
    gateway, triton = stage("gateway.Dockerfile", ""), stage("triton.Dockerfile", "cpu")
    assert gateway.all("USER")[-1] == triton.all("USER")[-1] == "1000:1000"
    assert "useradd --uid 1000 --gid 1000 " in gateway.all("RUN")[0]


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_the_models_can_be_read_by_that_user_whatever_the_builders_umask(target: str) -> None:
    (copy,) = [
        arguments for arguments in stage("triton.Dockerfile", target).all("COPY") if arguments.endswith("/models")
    ]
    assert "--chmod=a+rX " in copy


def test_the_networks_are_exported_with_the_torch_that_the_project_pins() -> None:
    files = (ROOT / "Makefile", ROOT / "pyproject.toml", DEPLOY / "triton.Dockerfile")
    pins = [set(re.findall(r"torch==([\d.]*\d)", path.read_text())) for path in files]
    assert all(pins)
    assert len(set.union(*pins)) == 1, pins


def test_the_gateways_environment_sets_settings_that_exist() -> None:
    names = [word.split("=")[0] for word in shlex.split(" ".join(stage("gateway.Dockerfile", "").all("ENV")))]
    settings = {name.removeprefix("GATEWAY_").lower() for name in names if name.startswith("GATEWAY_")}
    assert settings
    assert settings <= Settings.model_fields.keys()


def test_each_target_of_triton_serves_its_variant_of_the_models() -> None:
    assert stage("triton.Dockerfile", "cpu").environment({"PATH": ""})["TRITON_MODEL_CONFIG"] == "cpu"
    assert stage("triton.Dockerfile", "gpu").environment({"PATH": ""})["TRITON_MODEL_CONFIG"] == ""
