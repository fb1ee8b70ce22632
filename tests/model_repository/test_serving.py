"""The Python models in a real server, at the edges of what they are asked."""

import cv2
import numpy as np
import pytest
import tritonclient.grpc.aio as triton_client
from tritonclient.utils import InferenceServerException

from gateway.triton.embedded import EmbeddedTriton
from nets.data.plates import random_text, render_plate, render_scene
from plates import contract
from plates.geometry import Image


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
    coordinates, read, *scores = await ask(triton, contract.PLATE_RECOGNITION, wall)
    assert len(coordinates) > contract.READER_BATCH
    assert {len(column) for column in (read, *scores)} == {len(coordinates)}
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


def _boxes(model: contract.Model) -> contract.Tensor:
    return next(output for output in model.outputs if output.shape == (-1, 4))
