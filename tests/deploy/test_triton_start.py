"""deploy/triton.sh, which starts tritonserver in its container."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.triton import embedded, endpoint
from tests.deploy.dockerfile import DEPLOY

Start = Callable[..., list[str]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Run the script with a tritonserver that prints its arguments, and return these."""
    fake = tmp_path / "tritonserver"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)

    def run(*arguments: str, version: str = "26.09", **environment: str) -> list[str]:
        environment |= {"PATH": f"{tmp_path}:/usr/bin:/bin", "NVIDIA_TRITON_SERVER_VERSION": version}
        script = [str(DEPLOY / "triton.sh"), *arguments]
        done = subprocess.run(script, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    return run


def test_it_serves_the_models_and_passes_arguments_on(start: Start) -> None:
    arguments = start("--log-verbose=1", "--log-file=a b")
    assert arguments[0] == "--model-repository=/models"
    assert arguments[-2:] == ["--log-verbose=1", "--log-file=a b"]


@pytest.mark.parametrize(("version", "known"), [("25.12", False), ("26.03", False), ("26.04", True), ("27.01", True)])
def test_it_asks_for_client_shared_memory_where_the_flag_is_known(start: Start, version: str, known: bool) -> None:
    assert ("--allow-client-shm=true" in start(version=version)) is known


def test_a_key_closes_both_protocols_to_strangers_as_in_the_embedded_server(start: Start) -> None:
    restricted = f"{embedded._RESTRICTED}:{endpoint.KEY_NAME}=s3cret"
    arguments = start(TRITON_SHM_KEY="s3cret")
    assert f"--grpc-restricted-protocol={restricted}" in arguments
    assert f"--http-restricted-api={restricted}" in arguments


def test_without_a_key_nothing_is_restricted(start: Start) -> None:
    for arguments in (start(), start(TRITON_SHM_KEY="")):
        assert not [argument for argument in arguments if "restricted" in argument]


def test_the_models_variant_comes_from_the_environment(start: Start) -> None:
    assert "--model-config-name=cpu" in start(TRITON_MODEL_CONFIG="cpu")
    assert not [argument for argument in start(TRITON_MODEL_CONFIG="") if "model-config-name" in argument]


def test_the_models_regions_are_made_private(start: Start, tmp_path: Path) -> None:
    (tmp_path / "tritonserver").write_text(
        "#!/bin/sh\n"
        "region=/dev/shm/plate-models-test-$$\n"
        ': >"$region" && chmod 644 "$region"\n'
        'for _ in $(seq 300); do [ "$(stat -c %a "$region")" = 600 ] && break; sleep 0.1; done\n'
        'stat -c %a "$region" && rm "$region"\n'
    )
    assert start() == ["600"]
