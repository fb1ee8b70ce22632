"""The image of a multipart/form-data request, kept in memory."""

from typing import Any, Final

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from gateway.errors import BadRequest

FIELD: Final = "image"

_HOW: Final = f"Send the image as a file in the multipart form field `{FIELD}`: curl -F {FIELD}=@car.jpg URL"

_MAX_FIELDS: Final = 8
_MAX_FIELD_BYTES: Final = 4096

REQUEST_BODY: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": [FIELD],
                "properties": {
                    FIELD: {
                        "type": "string",
                        "format": "binary",
                        "description": "A JPEG, PNG, WebP or BMP file.",
                    }
                },
            }
        }
    },
}
"""The request body for OpenAPI."""


class _InMemoryParser(MultiPartParser):
    """Starlette's parser without its file on disk for parts over 1 MB: the body limit bounds the memory."""

    spool_max_size = 0  # never


async def read_image(request: Request) -> bytes:
    """Read the request's body and return the bytes of its image field.

    Raises:
        BadRequest: not a multipart form, a broken one, or one without that file.
    """
    if not request.headers.get("Content-Type", "").lower().startswith("multipart/form-data"):
        raise BadRequest(f"The request is not a multipart form. {_HOW}")
    parser = _InMemoryParser(
        request.headers,
        request.stream(),
        max_files=1,
        max_fields=_MAX_FIELDS,
        max_part_size=_MAX_FIELD_BYTES,
    )
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise BadRequest(f"The multipart form can't be read: {error.message} {_HOW}") from error
    try:
        image = form.get(FIELD)
        if isinstance(image, UploadFile):
            return await image.read()
    finally:
        await form.close()
    found = "holds text, not a file" if isinstance(image, str) else "is missing"
    raise BadRequest(f"The form field `{FIELD}` {found}. {_HOW}")
