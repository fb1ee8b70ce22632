"""Clients of other plate readers: their documented requests, as they are, and the answers that they look for."""

import base64
import json
from datetime import datetime
from typing import Any

import httpx
import pytest

from gateway.app import create_app
from gateway.fake import FakeRecognizer
from gateway.problems import MEDIA_TYPE
from gateway.recognizer import Box, Plate
from gateway.settings import Settings

UNREAD = Plate(Box(1, 2, 30, 12), "", 0.2, 0.5)
ODD = Plate(Box(1, 2, 30, 12), "B84", 0.5, 0.6)


async def read_plates(client: httpx.AsyncClient, jpeg: bytes, **data: Any) -> dict[str, Any]:
    """Send what Plate Recognizer's documentation shows for Python's requests."""
    response = await client.post(
        "/v1/plate-reader/",
        data=data,
        files={"upload": ("car.jpg", jpeg)},
        headers={"Authorization": "Token my-token"},
    )
    assert response.status_code == 201, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_a_client_of_plate_recognizer_gets_the_answer_that_it_knows(
    client: httpx.AsyncClient, jpeg: bytes
) -> None:
    sent = {"regions": ["mx", "us-ca"], "camera_id": "gate 3", "timestamp": "2019-08-19T13:11:25", "mmc": "true"}
    answer = await read_plates(client, jpeg, **sent)
    assert answer.pop("processing_time") > 0
    assert answer == {
        "results": [
            {
                "box": {"xmin": 10, "ymin": 20, "xmax": 41, "ymax": 32},
                "plate": "b840ok197",
                "region": {"code": "ru", "score": 0.971},
                "score": 0.971,
                "candidates": [
                    {"score": 0.971, "plate": "b840ok197"},
                    {"score": 0.02, "plate": "b840ok797"},
                    {"score": 0.001, "plate": "b340ok197"},
                ],
                "dscore": 0.93,
                "vehicle": {
                    "score": 0.0,
                    "type": "Unknown",
                    "box": {"xmin": 0, "ymin": 0, "xmax": 0, "ymax": 0},
                },
            }
        ],
        "filename": "car.jpg",
        "version": 1,
        "camera_id": "gate 3",
        "timestamp": "2019-08-19T13:11:25",
        "image_width": 80,
        "image_height": 48,
    }


@pytest.mark.parametrize("way", ["form", "URL-encoded", "JSON"])
async def test_base64_is_taken_as_plate_recognizer_takes_it(client: httpx.AsyncClient, jpeg: bytes, way: str) -> None:
    fields = {"upload": base64.b64encode(jpeg).decode(), "camera_id": "3"}
    requests: dict[str, dict[str, Any]] = {
        "form": {"files": {name: (None, value) for name, value in fields.items()}},
        "URL-encoded": {"data": fields},
        "JSON": {"json": fields},
    }
    response = await client.post("/v1/plate-reader/", **requests[way])
    assert response.status_code == 201, response.text
    answer = response.json()
    assert (len(answer["results"]), answer["camera_id"], answer["filename"]) == (1, "3", "upload")
    assert datetime.fromisoformat(answer["timestamp"]).utcoffset() is not None


@pytest.mark.parametrize(
    ("config", "plates"),
    [
        (None, ["b840ok197", "b84"]),
        ({"mode": "fast", "threshold_o": 0.6}, ["b840ok197"]),
        ({"threshold_d": 0.7, "threshold_o": 0.1}, ["b840ok197"]),
        ({"region": "strict"}, ["b840ok197"]),
        ({"detection_rule": "strict"}, ["b840ok197", "b84"]),
    ],
)
async def test_the_configuration_of_plate_recognizer_chooses_the_results(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes, config: dict[str, Any] | None, plates: list[str]
) -> None:
    fake.plates += [ODD, UNREAD]
    sent = {} if config is None else {"config": json.dumps(config)}
    answer = await read_plates(client, jpeg, **sent)
    assert [result["plate"] for result in answer["results"]] == plates
    assert [result["region"]["score"] for result in answer["results"]] == [0.971, 0.0][: len(plates)]


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        ({"config": "{"}, "config: Invalid JSON"),
        ({"config": '{"threshold_o": 2}'}, "config.threshold_o: Input should be less than or equal to 1"),
        ({"config": '{"detection_mode": "vehicle"}'}, "config.detection_mode: Input should be 'plate'"),
    ],
)
async def test_what_cannot_be_answered_is_refused(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes, data: dict[str, str], detail: str
) -> None:
    response = await client.post("/v1/plate-reader/", data=data, files={"upload": jpeg})
    assert response.status_code == 400
    assert detail in response.json()["detail"]
    assert fake.received == 0


async def test_a_client_of_plate_recognizer_that_asks_too_often_finds_what_it_looks_for(
    fake: FakeRecognizer, jpeg: bytes
) -> None:
    transport = httpx.ASGITransport(create_app(Settings(rate_limit="1/hour"), fake))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
        await read_plates(client, jpeg)
        response = await client.post("/v1/plate-reader/", files={"upload": jpeg})
    assert response.status_code == 429
    assert response.headers["Content-Type"] == MEDIA_TYPE
    body = response.json()
    assert body.keys() == {"type", "title", "status", "detail", "status_code"}
    assert body["status_code"] == 429


async def test_a_client_of_codeproject_ai_gets_the_answer_that_it_knows(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes
) -> None:
    fake.plates.append(UNREAD)
    response = await client.post("/v1/vision/alpr", files={"upload": ("car.jpg", jpeg)})
    assert response.status_code == 200
    answer = response.json()
    assert answer["success"] is True
    assert answer["message"] == "Found Plate: B840OK197"
    assert answer["predictions"] == [
        {
            "plate": "B840OK197",
            "label": "Plate: B840OK197",
            "confidence": 0.9712,
            "x_min": 10,
            "y_min": 20,
            "x_max": 41,
            "y_max": 32,
        }
    ]
    assert (answer["count"], answer["code"], answer["command"], answer["inferenceMs"]) == (1, 200, "alpr", 20)
    assert answer["processMs"] >= 0
    assert answer["timestampUTC"].endswith(" GMT")


@pytest.mark.parametrize(("min_confidence", "count"), [("0.4", 2), ("0.6", 1), ("1", 0)])
async def test_codeproject_ai_s_least_confidence_is_kept(
    client: httpx.AsyncClient, fake: FakeRecognizer, jpeg: bytes, min_confidence: str, count: int
) -> None:
    fake.plates.append(ODD)
    response = await client.post("/v1/vision/alpr", files={"upload": jpeg}, data={"min_confidence": min_confidence})
    answer = response.json()
    assert answer["count"] == len(answer["predictions"]) == count
    assert (answer["message"] == "No plates found") == (count == 0)


@pytest.mark.parametrize("min_confidence", ["2", "-1", "nan", "high", ""])
async def test_a_confidence_that_is_none_is_refused(
    client: httpx.AsyncClient, jpeg: bytes, min_confidence: str
) -> None:
    response = await client.post("/v1/vision/alpr", files={"upload": jpeg}, data={"min_confidence": min_confidence})
    assert response.status_code == 400
    assert "from 0 to 1" in response.json()["detail"]


async def test_an_error_says_no_to_a_client_of_codeproject_ai_in_its_words(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/vision/alpr", files={"upload": b"text"})
    assert response.status_code == 415
    body = response.json()
    assert (body["success"], body["error"], body["code"]) == (False, body["detail"], 415)


async def test_the_compatible_endpoints_can_be_switched_off(fake: FakeRecognizer, jpeg: bytes) -> None:
    transport = httpx.ASGITransport(create_app(Settings(compatible_endpoints=False), fake))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
        for path in ("/v1/plate-reader/", "/v1/plate-reader", "/v1/vision/alpr", "/v1/image/alpr"):
            assert (await client.post(path, files={"upload": jpeg})).status_code == 404
        assert not [path for path in (await client.get("/openapi.json")).json()["paths"] if path.startswith("/v1")]


async def test_the_path_of_codeproject_ai_s_earlier_versions_is_the_same(
    client: httpx.AsyncClient, jpeg: bytes
) -> None:
    """Clients such as Frigate's plate recognizer send there."""
    response = await client.post("/v1/image/alpr", files={"upload": jpeg})
    assert (response.status_code, response.json()["predictions"][0]["plate"]) == (200, "B840OK197")
    response = await client.post("/v1/image/alpr", files={"upload": b"text"})
    assert (response.status_code, response.json()["success"]) == (415, False)
