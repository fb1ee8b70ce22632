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
    assert operations == {("post", "/recognize"), ("get", "/health/live"), ("get", "/health/ready")}


def test_documents_the_status_of_every_error(document: Any) -> None:
    responses = document["paths"]["/recognize"]["post"]["responses"]
    public = {error for error in subclasses(GatewayError) if error.__module__ == GatewayError.__module__}
    assert responses.keys() == {"200", *(str(error.status) for error in public)}
    for status, response in responses.items():
        if status != "200":
            assert list(response["content"]) == ["application/problem+json"]
    assert {status for status in responses if "headers" in responses[status]} == {"503", "504"}


def test_the_request_is_a_form_with_a_file(document: Any) -> None:
    body = document["paths"]["/recognize"]["post"]["requestBody"]
    schema = body["content"]["multipart/form-data"]["schema"]
    assert body["required"] is True
    assert schema["required"] == ["image"]
    assert schema["properties"]["image"]["format"] == "binary"


def test_every_member_is_described(document: Any) -> None:
    for name, schema in document["components"]["schemas"].items():
        assert schema["description"], name
        for member, described in schema["properties"].items():
            assert described.keys() & {"description", "$ref", "enum"}, f"{name}.{member}"


async def test_answers_are_as_described(client: httpx.AsyncClient, document: Any, jpeg: bytes) -> None:
    def check(response: httpx.Response, schema: str) -> None:
        reference = {"$ref": f"#/components/schemas/{schema}"} | {"components": document["components"]}
        OAS31Validator(reference).validate(response.json())

    check(await client.post("/recognize", files={"image": jpeg}), "RecognizeResponse")
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
