"""The project's models in a running server, as others than the gateway see them."""

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import psutil
import pytest
import tritonclient.grpc
import tritonclient.http
from numpy.typing import NDArray

from gateway.triton.embedded import EmbeddedTriton
from nets.data.plates import render_scene
from plates import contract
from plates.geometry import Image

NAMES = [tensor.name for tensor in contract.PLATE_RECOGNITION.outputs]


@pytest.fixture
def grpc_client(triton: EmbeddedTriton) -> Iterator[tritonclient.grpc.InferenceServerClient]:
    with tritonclient.grpc.InferenceServerClient(triton.endpoint.grpc_url) as client:
        yield client


@pytest.fixture
def http_client(triton: EmbeddedTriton) -> Iterator[tritonclient.http.InferenceServerClient]:
    with tritonclient.http.InferenceServerClient(f"127.0.0.1:{triton.endpoint.http_port}") as client:
        yield client


@pytest.fixture(params=["plate", "none", "pixel"])
def picture(request: pytest.FixtureRequest) -> Image:
    """BGR pictures: one with a plate, one without, the smallest there is."""
    if request.param == "plate":
        return scene()
    return np.zeros((480, 640, 3) if request.param == "none" else (1, 1, 3), np.uint8)


def scene() -> Image:
    image, _, _ = render_scene("B840OK197", 3, 1280, 720, 200)
    return image


def ask_grpc(
    client: tritonclient.grpc.InferenceServerClient, picture: Image, model: str, outputs: list[str]
) -> dict[str, NDArray[Any]]:
    tensor = tritonclient.grpc.InferInput("input__0", list(picture.shape), "UINT8").set_data_from_numpy(picture)
    wanted = [tritonclient.grpc.InferRequestedOutput(name) for name in outputs]
    result = client.infer(model, [tensor], outputs=wanted)
    return {name: result.as_numpy(name) for name in outputs}


def ask_http(
    client: tritonclient.http.InferenceServerClient, picture: Image, *, binary: bool
) -> dict[str, NDArray[Any]]:
    tensor = tritonclient.http.InferInput("input__0", list(picture.shape), "UINT8")
    tensor.set_data_from_numpy(picture, binary_data=binary)
    wanted = [tritonclient.http.InferRequestedOutput(name, binary_data=binary) for name in NAMES]
    result = client.infer("plate_recognition", [tensor], outputs=wanted)
    return {name: result.as_numpy(name) for name in NAMES}


@pytest.mark.parametrize("model", contract.MODELS, ids=lambda model: model.name)
def test_a_models_metadata_is_the_contract(
    grpc_client: tritonclient.grpc.InferenceServerClient, model: contract.Model
) -> None:
    metadata = grpc_client.get_model_metadata(model.name)
    batch = (-1,) if model.max_batch_size else ()
    for served, promised in ((metadata.inputs, model.inputs), (metadata.outputs, model.outputs)):
        assert [(tensor.name, tensor.datatype, tuple(tensor.shape)) for tensor in served] == [
            (tensor.name, tensor.datatype, batch + tensor.shape) for tensor in promised
        ]
    assert grpc_client.get_model_config(model.name).config.max_batch_size == model.max_batch_size


def test_http_and_grpc_binary_or_not_return_the_same(
    grpc_client: tritonclient.grpc.InferenceServerClient,
    http_client: tritonclient.http.InferenceServerClient,
    picture: Image,
) -> None:
    answers = [
        ask_grpc(grpc_client, picture, "plate_recognition", NAMES),
        ask_http(http_client, picture, binary=True),
    ]
    if picture.size < 10**6:  # as JSON text, a photo would take a minute
        answers.append(ask_http(http_client, picture, binary=False))
    for answer in answers[1:]:
        for spec in contract.PLATE_RECOGNITION.outputs:
            value, expected = answer[spec.name], answers[0][spec.name]
            assert value.shape == expected.shape
            if spec.datatype == "BYTES":
                assert decoded(value) == decoded(expected)
            elif spec != contract.MILLISECONDS:
                np.testing.assert_allclose(value, expected, rtol=1e-5)


def decoded(texts: NDArray[Any]) -> list[str]:
    """Texts come as bytes in binary data and as str in JSON."""
    return [text.decode() if isinstance(text, bytes) else str(text) for text in texts.ravel()]


def test_a_client_of_the_original_system_is_answered(http_client: tritonclient.http.InferenceServerClient) -> None:
    tensor = tritonclient.http.InferInput("input__0", [480, 640, 3], "UINT8")
    tensor.set_data_from_numpy(np.zeros((480, 640, 3), np.uint8), binary_data=True)
    wanted = [tritonclient.http.InferRequestedOutput(name, binary_data=False) for name in ("coordinates", "texts")]
    result = http_client.infer(model_name="plate_recognition", inputs=[tensor], outputs=wanted)
    assert result.as_numpy("coordinates").shape == (0, 4)
    assert result.as_numpy("texts").shape == (0, 1)


def test_a_drawn_plate_is_found_and_read(grpc_client: tritonclient.grpc.InferenceServerClient) -> None:
    answer = ask_grpc(grpc_client, scene(), "plate_recognition", NAMES)
    assert answer["texts"].tolist() == [[b"B840OK197"]]
    assert answer["coordinates"].shape == (1, 4)
    assert 0.3 < answer["detection_scores"].item() <= 1
    assert 0.3 < answer["text_scores"].item() <= 1


def test_detection_alone_finds_the_same_boxes(
    grpc_client: tritonclient.grpc.InferenceServerClient, picture: Image
) -> None:
    whole = ask_grpc(grpc_client, picture, "plate_recognition", NAMES)
    alone = ask_grpc(grpc_client, picture, "yolo", ["output__0", "output__1", "output__2"])
    np.testing.assert_allclose(alone["output__1"], whole["coordinates"], atol=1e-3)
    np.testing.assert_allclose(alone["output__2"], whole["detection_scores"], atol=1e-5)
    assert alone["output__0"].shape == (len(whole["texts"]), 3, contract.CROP_HEIGHT, contract.CROP_WIDTH)


def test_a_crop_is_read_the_same_in_a_batch_and_alone(grpc_client: tritonclient.grpc.InferenceServerClient) -> None:
    crops = np.random.default_rng(0).uniform(-1, 1, (8, 3, 24, 94)).astype(np.float32)

    def ask(model: str, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        tensor = tritonclient.grpc.InferInput("input__0", list(batch.shape), "FP32").set_data_from_numpy(batch)
        result: NDArray[np.float32] = grpc_client.infer(model, [tensor]).as_numpy("output__0")
        return result

    for model in ("stn", "lprnet"):
        alone = np.concatenate([ask(model, crops[index : index + 1]) for index in range(len(crops))])
        np.testing.assert_allclose(ask(model, crops), alone, atol=1e-4)


def test_it_listens_on_the_loopback_alone(triton: EmbeddedTriton) -> None:
    sockets = [s for s in psutil.Process(triton.pid).net_connections() if s.status == psutil.CONN_LISTEN]
    assert {s.laddr.ip.removeprefix("::ffff:") for s in sockets} == {"127.0.0.1"}
    endpoint = triton.endpoint
    assert {s.laddr.port for s in sockets} == {endpoint.http_port, endpoint.grpc_port, endpoint.metrics_port}


def test_its_metrics_are_served(triton: EmbeddedTriton) -> None:
    url = f"http://127.0.0.1:{triton.endpoint.metrics_port}/metrics"
    assert 'nv_inference_request_success{model="plate_recognition"' in httpx.get(url, trust_env=False).text


@pytest.mark.parametrize("protocol", ["shared memory", "model repository", "log", "trace"])
def test_protocols_that_change_the_server_ask_for_the_key(
    triton: EmbeddedTriton, grpc_client: tritonclient.grpc.InferenceServerClient, protocol: str
) -> None:
    endpoint = triton.endpoint
    call, method, path = {
        "shared memory": (grpc_client.get_system_shared_memory_status, "GET", "systemsharedmemory/status"),
        "model repository": (grpc_client.get_model_repository_index, "POST", "repository/index"),
        "log": (grpc_client.get_log_settings, "GET", "logging"),
        "trace": (grpc_client.get_trace_settings, "GET", "trace/setting"),
    }[protocol]
    call(headers=endpoint.grpc_headers)
    with pytest.raises(tritonclient.grpc.InferenceServerException, match="restricted"):
        call()
    with httpx.Client(trust_env=False, base_url=f"http://127.0.0.1:{endpoint.http_port}/v2/") as client:
        assert client.request(method, path).status_code == httpx.codes.FORBIDDEN
        assert client.request(method, path, headers={"plate-gateway": str(endpoint.shm_key)}).is_success


def test_the_models_send_nothing_home(triton: EmbeddedTriton) -> None:
    for stub in psutil.Process(triton.pid).children():
        assert stub.environ()["ORT_DISABLE_TELEMETRY"] == "1"
        assert not [file.path for file in stub.open_files() if "onnxruntime" in file.path]
