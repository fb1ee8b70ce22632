"""The API's description is valid and says what the gateway does."""

from typing import Any

import httpx
import pytest
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from gateway.app import create_app
from gateway.errors import GatewayError
from gateway.fake import FakeRecognizer
from gateway.settings import Settings

PICTURE_PATHS = ("/recognize", "/recognize/batch", "/detect", "/blur", "/v1/plate-reader/", "/v1/vision/alpr")


@pytest.fixture
async def document(client: httpx.AsyncClient) -> Any:
    response = await client.get("/openapi.json")
    assert response.status_code == 200
    return response.json()


def subclasses(error: type[GatewayError]) -> set[type[GatewayError]]:
    return {error}.union(*(subclasses(each) for each in error.__subclasses__()))


def test_is_valid_openapi_3_1(document: Any) -> None:
    assert document["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(document).validate()


def test_describes_these_operations_and_no_other(document: Any) -> None:
    operations = {(method, path) for path, item in document["paths"].items() for method in item}
    assert operations == {
        *(("post", path) for path in PICTURE_PATHS),
        ("get", "/health/live"),
        ("get", "/health/ready"),
    }


def test_operations_are_named_for_client_generators(document: Any) -> None:
    names = {operation["operationId"] for item in document["paths"].values() for operation in item.values()}
    assert names == {"recognize", "recognize_batch", "detect", "blur", "plate_reader", "alpr", "live", "ready"}


def test_schemas_are_named_for_client_generators(document: Any) -> None:
    """Two of one name would be called `Format-Input` and `Format-Output`."""
    assert [name for name in document["components"]["schemas"] if not name.isalnum()] == []


@pytest.mark.parametrize("path", PICTURE_PATHS)
def test_documents_the_status_of_every_error(document: Any, path: str) -> None:
    responses = document["paths"][path]["post"]["responses"]
    public = {error for error in subclasses(GatewayError) if error.__module__ == GatewayError.__module__}
    success = "201" if path == "/v1/plate-reader/" else "200"
    assert responses.keys() == {success, *(str(error.status) for error in public)}
    for status, response in responses.items():
        if status != success:
            assert list(response["content"]) == ["application/problem+json"]
    assert {status for status in responses if "Retry-After" in responses[status].get("headers", {})} == {
        "429",
        "503",
        "504",
    }


@pytest.mark.parametrize(
    ("path", "types"),
    [
        ("/recognize", {"application/json", "image/jpeg"}),
        ("/recognize/batch", {"application/json", "application/x-ndjson"}),
        ("/detect", {"application/json"}),
        ("/blur", {"image/jpeg"}),
    ],
)
def test_says_what_each_answer_is(document: Any, path: str, types: set[str]) -> None:
    assert document["paths"][path]["post"]["responses"]["200"]["content"].keys() == types


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/recognize", "image"),
        ("/detect", "image"),
        ("/blur", "image"),
        ("/v1/plate-reader/", "upload"),
        ("/v1/vision/alpr", "upload"),
    ],
)
def test_the_first_way_to_send_a_picture_is_a_form_with_a_file(document: Any, path: str, field: str) -> None:
    body = document["paths"][path]["post"]["requestBody"]
    assert next(iter(body["content"])) == "multipart/form-data"
    schema = body["content"]["multipart/form-data"]["schema"]
    assert body["required"] is True
    assert schema["required"] == [field]
    assert schema["properties"][field]["format"] == "binary"


def test_every_member_is_described(document: Any) -> None:
    for name, schema in document["components"]["schemas"].items():
        assert schema["description"], name
        for member, described in schema.get("properties", {}).items():
            assert described.keys() & {"description", "$ref", "enum"}, f"{name}.{member}"


async def test_answers_are_as_described(client: httpx.AsyncClient, document: Any, jpeg: bytes) -> None:
    def check(response: httpx.Response, schema: str) -> None:
        reference = {"$ref": f"#/components/schemas/{schema}"} | {"components": document["components"]}
        OAS31Validator(reference).validate(response.json())

    check(await client.post("/recognize", files={"image": jpeg}), "RecognizeResponse")
    check(await client.post("/recognize/batch", files=[("image", jpeg), ("image", b"text")]), "BatchResponse")
    check(await client.post("/detect", files={"image": jpeg}), "DetectResponse")
    check(await client.post("/v1/plate-reader/", files={"upload": jpeg}), "PlateReaderResponse")
    check(await client.post("/v1/vision/alpr", files={"upload": jpeg}), "AlprResponse")
    check(await client.post("/v1/vision/alpr"), "Problem")
    check(await client.post("/recognize"), "Problem")
    check(await client.get("/nothing"), "Problem")
    check(await client.get("/health/ready"), "Health")
    check(await client.get("/health/live"), "Health")


async def test_the_recognizer_is_entered_and_left_with_the_application() -> None:
    fake = FakeRecognizer()
    app = create_app(Settings(), fake)
    async with app.router.lifespan_context(app):
        assert fake.ready
    assert not fake.ready
