"""The commands with a real Triton."""

import asyncio
import json
import os
import socket
import sys
from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest

from gateway.client.http import GatewayClient
from gateway.triton import statistics
from gateway.triton.embedded import EmbeddedTriton
from gateway.video.frames import Frames, Source
from gateway.video.passages import Passage, follow
from nets.data.plates import render_scene
from plates import contract
from plates.geometry import Image
from tests.triton.support import require_platform
from tests.video.camera import Camera

EXAMPLE = Path(__file__).parents[2] / "docs" / "example.jpg"
TEXTS = ("B840OK197", "K123EX77")
FPS = 10


async def run(*arguments: object, **settings: object) -> tuple[int, str, str]:
    """Run the command; return its exit status and what it wrote on its two streams."""
    environment = {name: value for name, value in os.environ.items() if "GATEWAY_" not in name}
    environment |= {f"GATEWAY_{name.upper()}": str(value) for name, value in settings.items()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway.cli", *map(str, arguments)),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, said = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode is not None
    return process.returncode, out.decode(), said.decode()


def nobody() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
    return port


def drive(text: str, seed: int) -> list[Image]:
    """A second of a car that comes nearer and goes to the right."""
    scene, _, _ = render_scene(text, seed, 1280, 720, 200)
    noise = np.random.default_rng(seed)
    frames = []
    for step in np.linspace(0.6, 1, FPS):
        move = np.array([[step, 0, 300 * (step - 0.6)], [0, step, 200 * (1 - step)]])
        frame = cv2.warpAffine(scene, move, (1280, 720), borderValue=(110, 110, 110))
        frames.append(np.clip(frame + noise.normal(0, 5, frame.shape), 0, 255).astype(np.uint8))
    return frames


@pytest.fixture(scope="module")
def scenes() -> list[Image]:
    """Two cars, one after the other, with an empty road between them."""
    road = [np.full((720, 1280, 3), 110, np.uint8)] * 2 * FPS
    return [frame for index, text in enumerate(TEXTS) for frame in drive(text, 3 + index) + road]


async def passages(service: httpx.AsyncClient, source: Source, stop_after: int) -> list[Passage]:
    """Follow a source until so many passages have ended."""
    found: list[Passage] = []
    stop = asyncio.Event()
    async with asyncio.timeout(120), Frames(source, FPS / 2) as frames:
        steps = follow(GatewayClient(service, 4), frames, window=4, stop=stop, least_frames=2, pictures=True)
        async for step in steps:
            found += step.passages
            if len(found) >= stop_after:
                stop.set()
                frames.stop()
    return found


async def test_without_a_gateway_the_models_are_started(tmp_path: Path) -> None:
    require_platform()
    output = tmp_path / "out.jsonl"
    status, _, said = await run("recognize", EXAMPLE, "-o", output, port=nobody())
    assert (status, said.splitlines()[-1]) == (0, "photos: 1, plates: 1.")
    assert "its models are started in this process" in said
    (plate,) = json.loads(output.read_text())["plates"]
    assert plate["text"] == "B840OK197"


async def test_a_film_becomes_a_line_for_each_car(
    service: httpx.AsyncClient, scenes: list[Image], tmp_path: Path
) -> None:
    path = tmp_path / "film.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, (1280, 720))
    for frame in scenes:
        writer.write(frame)
    writer.release()
    first, second = await passages(service, Source(str(path)), 2)
    assert (first.text, second.text) == TEXTS
    assert first.last_seconds < 1 < 2.9 < second.first_seconds
    assert min(first.score, second.score) > 0.5
    assert min(first.frames, second.frames) >= 4
    for passage in (first, second):
        picture = cv2.imdecode(np.frombuffer(passage.picture, np.uint8), cv2.IMREAD_COLOR)
        assert picture is not None
        assert picture.shape[1] > passage.box.x_max - passage.box.x_min


async def test_a_camera_becomes_the_same_lines_with_the_time_of_day(
    service: httpx.AsyncClient, scenes: list[Image]
) -> None:
    async with Camera(scenes, fps=FPS) as camera:
        found = await passages(service, Source(camera.url), 1)
    assert found[0].text in TEXTS
    assert found[0].first_time is not None
    assert found[0].last_time is not None
    assert found[0].first_time < found[0].last_time


async def at_rest(triton: EmbeddedTriton) -> list[statistics.ModelStatistics]:
    """Return what was done once nothing is under way: what a test before gave up may still be computed."""
    _, before = await statistics.read(triton.endpoint)
    while True:
        await asyncio.sleep(0.5)
        _, after = await statistics.read(triton.endpoint)
        if after == before:
            return after
        before = after


async def test_models_shows_what_was_done(service: httpx.AsyncClient, triton: EmbeddedTriton) -> None:
    before = await at_rest(triton)
    response = await service.post("/recognize", files={"image": EXAMPLE.read_bytes()})
    assert response.status_code == 200
    server, after = await statistics.read(triton.endpoint)
    assert server.name == "triton"
    assert [model.name for model in after] == [model.name for model in contract.MODELS]
    assert all(model.ready and model.version == "1" for model in after)
    done = {new.name: new.requests - old.requests for old, new in zip(before, after, strict=True)}
    assert done == {"plate_recognition": 1, "yolo": 0, "yolo_net": 1, "stn": 1, "lprnet": 1}
    for model in after:
        if model.requests:
            assert model.mean_ms is not None
            assert model.queue_ms is not None
            assert 0 <= model.queue_ms < model.mean_ms
            assert sum(size * count for size, count in model.batch_sizes.items()) == model.inferences


async def test_models_is_a_table_or_json(triton: EmbeddedTriton) -> None:
    port = triton.endpoint.grpc_port
    status, out, _ = await run("models", "--grpc-port", port)
    assert status == 0
    head, columns, *rows = out.splitlines()
    assert head.startswith("triton 2.")
    assert columns.split()[:3] == ["model", "state", "version"]
    assert [row.split()[:3] for row in rows] == [[model.name, "ready", "1"] for model in contract.MODELS]
    status, out, _ = await run("models", "--json", triton_grpc_port=port)
    assert (status, len(json.loads(out)["models"])) == (0, len(contract.MODELS))


async def test_models_without_a_triton_is_one_sentence() -> None:
    status, out, said = await run("models", "--grpc-port", nobody())
    assert (status, out, len(said.splitlines())) == (1, "", 1)


async def test_doctor_finds_this_machine_fit() -> None:
    require_platform()
    status, out, _ = await run("doctor", "--json", port=nobody())
    findings = {finding["name"]: finding for finding in json.loads(out)}
    assert status == 0, findings
    assert {"Python", "Python's library", "packages", "models", "shared memory", "GPU"} <= set(findings)


async def test_doctor_says_what_lacks(tmp_path: Path) -> None:
    status, out, _ = await run("doctor", port=nobody(), model_repository=tmp_path)
    assert status == 1
    (lacking,) = (line for line in out.splitlines() if line.startswith("lacking"))
    assert "GATEWAY_MODEL_REPOSITORY" in lacking
