"""Programs that were written for other plate readers, pointed at the real service: what their documentation shows."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "example.jpg"
SECONDS = 60

FETCH = """
const { openAsBlob } = require("node:fs");
(async () => {
    const form = new FormData();
    form.append("upload", await openAsBlob(process.argv[2]), "car.jpg");
    const response = await fetch(process.argv[1], { method: "POST", body: form });
    console.log(JSON.stringify(await response.json()));
})();
"""


@pytest.mark.parametrize("path", ["/v1/plate-reader/", "/v1/plate-reader"])
@pytest.mark.parametrize("config", [None, {"region": "strict", "mode": "fast"}])
async def test_plate_recognizer_s_python_example(url: str, path: str, config: dict[str, str] | None) -> None:
    """Its `requests`, with the regions as a list and the engine's configuration as JSON."""
    requests: Any = pytest.importorskip("requests")

    def read() -> Any:
        with EXAMPLE.open("rb") as file:
            return requests.post(
                url + path,
                data={"regions": ["ru", "by"], "camera_id": "gate-3"}
                | ({"config": json.dumps(config)} if config else {}),
                files={"upload": file},
                headers={"Authorization": "Token my-token"},
                timeout=SECONDS,
            )

    response = await asyncio.to_thread(read)
    assert (response.status_code, response.history) == (201, [])
    answer = response.json()
    (result,) = answer["results"]
    assert (result["plate"], result["region"]["code"]) == ("b840ok197", "ru")
    assert result["box"]["xmin"] < result["box"]["xmax"] <= answer["image_width"]
    assert (answer["filename"], answer["camera_id"]) == (EXAMPLE.name, "gate-3")


@pytest.mark.parametrize("path", ["/v1/vision/alpr", "/v1/image/alpr"])
async def test_codeproject_ai_s_javascript_example(url: str, path: str) -> None:
    """Its `fetch` with a form; the second path is that of its earlier versions."""
    if (node := shutil.which("node")) is None:
        pytest.skip("node is not installed")
    process = await asyncio.create_subprocess_exec(
        *(node, "-e", FETCH, url + path, str(EXAMPLE)), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    answer = json.loads(output)
    assert (answer["success"], answer["count"]) == (True, 1)
    (prediction,) = answer["predictions"]
    assert (prediction["plate"], prediction["label"]) == ("B840OK197", "Plate: B840OK197")
    assert prediction["confidence"] > 0.9
    assert prediction["x_min"] < prediction["x_max"]
    assert 0 < answer["inferenceMs"] <= answer["processMs"]
