"""Where a Triton listens."""

import pytest
from pydantic import SecretStr

from gateway.settings import Settings
from gateway.triton.endpoint import Endpoint


@pytest.mark.parametrize(("host", "written"), [("triton", "triton"), ("::1", "[::1]")])
def test_an_external_server_is_where_the_settings_say(host: str, written: str) -> None:
    settings = Settings(
        triton_host=host, triton_http_port=9000, triton_grpc_port=9001, triton_metrics_port=9002, triton_shm_key=None
    )
    endpoint = Endpoint.external(settings)
    assert endpoint == Endpoint(host, 9000, 9001, 9002)
    assert endpoint.grpc_url == f"{written}:9001"
    assert endpoint.http_url == f"http://{written}:9000"
    assert endpoint.grpc_headers == {}


def test_a_key_travels_in_the_header_that_triton_expects_and_shows_nowhere_else() -> None:
    endpoint = Endpoint.external(Settings(triton_shm_key=SecretStr("s3cret")))
    assert endpoint.grpc_headers == {"triton-grpc-protocol-plate-gateway": "s3cret"}
    assert "s3cret" not in repr(endpoint)


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("localhost", True), ("::1", True), ("10.0.0.1", False), ("t", False)],
)
def test_the_loopback_is_this_machine(host: str, local: bool) -> None:
    assert Endpoint(host, 1, 2, 3).local == local
