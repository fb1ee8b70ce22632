"""The Python models in a real server, at the edges of what they are asked."""

import cv2
import numpy as np
import pytest
import tritonclient.grpc.aio as triton_client
from tritonclient.utils import InferenceServerException

from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton
from nets.data.plates import random_text, render_plate, render_scene
from plates import contract
from plates.geometry import Image
from tests.triton.support import FREE_PORTS, require_platform


async def ask(triton: EmbeddedTriton, model: contract.Model, image: Image) -> list[np.ndarray]:  # type: ignore[type-arg]
    """Return a model's outputs for one image, as a client without a gateway gets them."""
    tensor = triton_client.InferInput(contract.IMAGE.name, list(image.shape), contract.IMAGE.datatype)
    tensor.set_data_from_numpy(image)
    async with triton_client.InferenceServerClient(triton.endpoint.grpc_url) as client:
        answer = await client.infer(model.name, [tensor])
    return [answer.as_numpy(output.name) for output in model.outputs]


async def test_more_plates_than_the_reader_takes_at_once_are_all_read(triton: EmbeddedTriton) -> None:
    rng = np.random.default_rng(5)
    wall = np.full((1000, 1600, 3), (90, 80, 70), np.uint8)
    texts = set()
    for index in range(40):
        text = random_text(rng)
        texts.add(text)
        plate = cv2.resize(render_plate(text, rng), (208, 45), interpolation=cv2.INTER_AREA)
        top, left = 40 + 120 * (index // 5), 40 + 316 * (index % 5)
        wall[top : top + 45, left : left + 208] = plate
    coordinates, read, *columns, milliseconds = await ask(triton, contract.PLATE_RECOGNITION, wall)
    assert len(coordinates) > contract.READER_BATCH
    assert {len(column) for column in (read, *columns)} == {len(coordinates)}
    assert milliseconds.shape == (len(contract.STAGES),)
    found = {text.decode() for text in read.ravel()}
    assert len(found & texts) >= 0.8 * len(coordinates)


@pytest.mark.parametrize("model", [contract.PLATE_RECOGNITION, contract.YOLO], ids=lambda model: model.name)
@pytest.mark.parametrize("shape", [(0, 64, 3), (64, 0, 3)])
async def test_an_image_without_pixels_is_an_error_of_its_own(
    triton: EmbeddedTriton, model: contract.Model, shape: tuple[int, int, int]
) -> None:
    with pytest.raises(InferenceServerException, match="no pixels"):
        await ask(triton, model, np.empty(shape, np.uint8))
    image, _, _ = render_scene("B840OK197", 3, 1280, 720, 200)
    boxes = (await ask(triton, model, image))[model.outputs.index(_boxes(model))]
    assert boxes.shape == (1, 4)


async def test_every_output_of_one_plate_agrees_with_the_others(triton: EmbeddedTriton) -> None:
    image, _, _ = render_scene("B840OK197", 3, 1280, 720, 200)
    names = [output.name for output in contract.PLATE_RECOGNITION.outputs]
    answer = dict(zip(names, await ask(triton, contract.PLATE_RECOGNITION, image), strict=True))
    for output in contract.PLATE_RECOGNITION.outputs:
        shape = tuple(1 if size == -1 else size for size in output.shape)
        assert answer[output.name].shape == shape, output.name
    assert answer["texts"].item() == b"B840OK197"
    assert answer["candidates"][0, 0] == b"B840OK197"
    assert answer["candidate_scores"][0, 0] == answer["text_scores"].item()
    assert (answer["formats"].item(), answer["regions"].item(), answer["lines"].item()) == (b"civil", b"197", 1)
    said = [candidate for candidate in answer["candidates"][0] if candidate]
    assert np.count_nonzero(answer["candidate_scores"][0]) == len(said)
    assert np.all(np.diff(answer["candidate_scores"][0]) <= 0)
    assert np.count_nonzero(answer["character_scores"][0]) == len("B840OK197")
    assert answer["character_scores"][0, :9].min() >= answer["text_scores"].item() - 1e-6
    assert (answer["milliseconds"] > 0).all()


async def test_a_picture_without_plates_has_outputs_without_rows(triton: EmbeddedTriton) -> None:
    *columns, milliseconds = await ask(triton, contract.PLATE_RECOGNITION, np.full((480, 640, 3), 90, np.uint8))
    specs = contract.PLATE_RECOGNITION.outputs[:-1]
    assert [column.shape for column in columns] == [(0, *spec.shape[1:]) for spec in specs]
    assert milliseconds.shape == (len(contract.STAGES),)


async def test_a_plate_that_fills_the_picture_is_found_and_read(triton: EmbeddedTriton) -> None:
    drawn = render_plate("B840OK197", np.random.default_rng(1), height=220)
    plate = np.asarray(cv2.copyMakeBorder(drawn, 12, 12, 20, 20, cv2.BORDER_REPLICATE), np.uint8)
    coordinates, texts, *_ = await ask(triton, contract.PLATE_RECOGNITION, plate)
    assert texts.ravel().tolist() == [b"B840OK197"]
    assert coordinates[0, 2] - coordinates[0, 0] > 0.8 * plate.shape[1]


async def test_the_servers_environment_sets_options(monkeypatch: pytest.MonkeyPatch) -> None:
    require_platform()
    monkeypatch.setenv("PLATES_TEXT_THRESHOLD", "1.01")
    image, _, _ = render_scene("B840OK197", 3, 1280, 720, 200)
    async with EmbeddedTriton(Settings(**FREE_PORTS)) as strict:
        _, texts, _, _, _, candidates, *_ = await ask(strict, contract.PLATE_RECOGNITION, image)
    assert texts.item() == b""
    assert candidates[0, 0] == b"B840OK197"


def _boxes(model: contract.Model) -> contract.Tensor:
    return next(output for output in model.outputs if output.shape == (-1, 4))
