"""docker-compose.yml against the Compose specification's schema and against what the two images need.

compose-spec.json is that schema (https://github.com/compose-spec/compose-spec, schema/compose-spec.json, Apache-2.0),
unchanged.
"""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from gateway.settings import Settings

ROOT = Path(__file__).parents[2]
Service = dict[str, Any]


def defaults() -> dict[str, str]:
    lines = (ROOT / ".env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def interpolate(text: str, environment: dict[str, str]) -> str:
    """Replace ${NAME} and ${NAME:-default} as Compose does; a name without a value fails."""

    def value(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        return environment.get(name) or (environment[name] if default is None else default)

    return re.sub(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}", value, text)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    text = interpolate((ROOT / "docker-compose.yml").read_text(), defaults())
    document: dict[str, Any] = yaml.safe_load(text)
    return document


@pytest.fixture(scope="module")
def services(compose: dict[str, Any]) -> dict[str, Service]:
    found: dict[str, Service] = compose["services"]
    return found


def started(services: dict[str, Service], profile: str) -> set[str]:
    return {name for name, service in services.items() if profile in service.get("profiles", [profile])}


def is_triton(name: str) -> bool:
    return name.startswith("triton")


def test_the_file_is_valid_by_the_compose_specification(compose: dict[str, Any]) -> None:
    schema = json.loads((Path(__file__).parent / "compose-spec.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(compose)


def test_the_schema_refuses_a_misspelt_key(compose: dict[str, Any]) -> None:
    schema = json.loads((Path(__file__).parent / "compose-spec.json").read_text())
    broken = {**compose, "services": {"gateway": {"image": "plate-gateway", "shm_sise": "1gb"}}}
    with pytest.raises(jsonschema.ValidationError, match="shm_sise"):
        jsonschema.Draft202012Validator(schema).validate(broken)


def test_each_profile_starts_one_triton_and_the_default_is_the_gpu(services: dict[str, Service]) -> None:
    assert started(services, "gpu") == {"sandbox", "gateway", "triton"}
    assert started(services, "cpu") == {"sandbox", "gateway", "triton-cpu"}
    assert defaults()["COMPOSE_PROFILES"] == "gpu"


def test_only_the_gpu_profile_asks_for_a_gpu(services: dict[str, Service]) -> None:
    (device,) = services["triton"]["deploy"]["resources"]["reservations"]["devices"]
    assert device["driver"] == "nvidia"
    assert device["capabilities"] == ["gpu"]
    for name in started(services, "cpu"):
        assert not {"deploy", "gpus", "devices", "runtime"} & services[name].keys()


def test_triton_is_reachable_from_the_gateway_alone(compose: dict[str, Any], services: dict[str, Service]) -> None:
    for name in filter(is_triton, services):
        assert "ports" not in services[name]
        assert services[name]["networks"] == {"inside": {"aliases": ["triton"]}}
    assert compose["networks"]["inside"]["internal"] is True
    assert services["gateway"]["environment"]["GATEWAY_TRITON_HOST"] == "triton"
    assert services["sandbox"]["network_mode"] == "none"


def test_the_gateway_is_published_on_the_loopback_unless_told_otherwise(services: dict[str, Service]) -> None:
    assert services["gateway"]["ports"] == ["127.0.0.1:8080:8080"]
    assert "outside" in services["gateway"]["networks"]


def test_triton_and_gateway_share_memory_and_process_ids(services: dict[str, Service]) -> None:
    for name in services.keys() - {"sandbox"}:
        assert services[name]["ipc"] == "service:sandbox"
        assert services[name]["pid"] == "service:sandbox"
        assert "sandbox" in services[name]["depends_on"]
    assert services["sandbox"]["ipc"] == "shareable"


def test_the_shared_memory_holds_the_slots_and_as_much_again_for_triton(services: dict[str, Service]) -> None:
    slots, slot_bytes = (Settings.model_fields[name].default for name in ("slots", "slot_bytes"))
    assert services["sandbox"]["shm_size"] == "3gb"
    assert 2 * slots * slot_bytes <= 3 * 2**30


def test_the_gateway_shows_the_key_that_triton_asks_for(services: dict[str, Service]) -> None:
    key = services["gateway"]["environment"]["GATEWAY_TRITON_SHM_KEY"]
    assert key
    for name in filter(is_triton, services):
        assert services[name]["environment"]["TRITON_SHM_KEY"] == key


def test_the_gateways_environment_sets_settings_that_exist(services: dict[str, Service]) -> None:
    names = services["gateway"]["environment"]
    assert {name.removeprefix("GATEWAY_").lower() for name in names} <= Settings.model_fields.keys()


def test_every_service_is_restarted_and_can_gain_no_privileges(services: dict[str, Service]) -> None:
    for service in services.values():
        assert service["restart"] == "unless-stopped"
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service


def test_the_gateway_waits_for_the_triton_that_its_profile_starts(services: dict[str, Service]) -> None:
    waits = services["gateway"]["depends_on"]
    assert set(waits) == {"sandbox", *filter(is_triton, services)}
    for name in filter(is_triton, waits):
        # Compose refuses a required dependency that the profile leaves out.
        assert waits[name] == {"condition": "service_healthy", "required": False}


def test_images_are_built_from_targets_that_exist(services: dict[str, Service]) -> None:
    for service in services.values():
        build = service["build"]
        dockerfile = (ROOT / build["context"] / build["dockerfile"]).read_text()
        if "target" in build:
            assert re.search(rf"^FROM .* AS {build['target']}$", dockerfile, re.MULTILINE)
        assert "\nHEALTHCHECK " in dockerfile
