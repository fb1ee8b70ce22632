"""The request bodies of the API's description: routes that read a body themselves tell FastAPI nothing about it."""

from typing import Any, Final

from gateway.settings import Settings

FILE: Final = {"type": "string", "format": "binary", "description": "A JPEG, PNG, WebP or BMP file."}
BASE64: Final = {
    "type": "string",
    "format": "byte",
    "contentEncoding": "base64",
    "description": "A JPEG, PNG, WebP or BMP file in base64; may begin as a data URL does.",
}
URL: Final = {"type": "string", "format": "uri", "description": "Where the picture is: http or https."}


def request_body(settings: Settings) -> dict[str, Any]:
    """Return the request body of the routes that take one picture, for OpenAPI."""
    members: dict[str, Any] = {"image": BASE64}
    required: list[dict[str, Any]] = [{"required": ["image"]}]
    if settings.url_input:
        members["url"] = URL
        required.append({"required": ["url"]})
    json_schema = {"type": "object", "properties": members, "anyOf": required}
    return {
        "description": "The picture: a file in a form (field `image`, `file` or `upload`), the body itself, or base64.",
        "required": True,
        "content": {
            "multipart/form-data": {"schema": {"type": "object", "required": ["image"], "properties": {"image": FILE}}},
            **{f"image/{kind}": {"schema": FILE} for kind in ("jpeg", "png", "webp", "bmp")},
            "application/json": {"schema": json_schema},
        },
    }
