"""Bodies in which a picture is written as text: JSON and URL-encoded forms, with base64 in them."""

import binascii
import json
import re
import urllib.parse
from collections.abc import Callable
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from gateway.errors import BadRequest

IMAGE_FIELDS: Final = ("image", "file", "upload")
"""Names of the form field, or JSON member, that holds the picture."""
URL_FIELDS: Final = ("url", "upload_url")
"""Names of the one that tells where it is."""

_DATA_URL: Final = re.compile(r"data:[\w.+/-]*;base64,", re.ASCII)
_TO_STANDARD_BASE64: Final = bytes.maketrans(b"-_", b"+/")
_WHITE_SPACE: Final = b" \t\r\n"


class _Members(BaseModel):
    """The JSON body; members that it doesn't know are somebody else's."""

    model_config = ConfigDict(extra="allow", strict=True)

    image: str | None = None
    file: str | None = None
    upload: str | None = None
    url: str | None = None
    upload_url: str | None = None


def parse_json(data: bytes, max_fields: int) -> list[tuple[str, str]]:
    """Return the members of a JSON object as the fields of a form, those that aren't texts as JSON. Blocks.

    Raises:
        BadRequest: no JSON object, one without a picture, or with too many members.
    """
    try:
        members = _Members.model_validate_json(data).model_dump(exclude_none=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise BadRequest(f'In {where}: {first["msg"]}. Send {{"image": "BASE64"}}.') from None
    if not members.keys() & {*IMAGE_FIELDS, *URL_FIELDS}:
        raise BadRequest('The JSON has no member `image`. Send {"image": "BASE64"}.')
    fields = [
        (name, item if isinstance(item, str) else json.dumps(item))
        for name, value in members.items()
        for item in (value if isinstance(value, list) else [value])
    ]
    if len(fields) > max_fields:
        raise BadRequest(_too_many(max_fields))
    return fields


def parse_urlencoded(data: bytes, max_fields: int) -> list[tuple[str, str]]:
    """Return the fields of a URL-encoded form, which is ASCII. Blocks.

    Raises:
        BadRequest: too many fields.
    """
    if data.count(b"&") >= max_fields:
        raise BadRequest(_too_many(max_fields))
    return urllib.parse.parse_qsl(data.decode("ascii"), keep_blank_values=True)


def _too_many(fields: int) -> str:
    return f"The body has more than {fields} fields. Send fewer."


URL_ENCODED: Final = "application/x-www-form-urlencoded"

PARSERS: Final[dict[str, Callable[[bytes, int], list[tuple[str, str]]]]] = {
    "application/json": parse_json,
    URL_ENCODED: parse_urlencoded,
}
"""From a body, and how many fields it may have, to its fields."""


def decode_base64(text: str) -> bytes:
    """Return the bytes that a base64 text stands for. Blocks.

    Line breaks, the beginning of a data URL and the URL-safe alphabet are taken too.

    Raises:
        BadRequest: the text is something else.
    """
    prefix = _DATA_URL.match(text)
    try:
        encoded = text[prefix.end() if prefix else 0 :].encode("ascii").translate(_TO_STANDARD_BASE64, _WHITE_SPACE)
        return binascii.a2b_base64(encoded + b"=" * (-len(encoded) % 4), strict_mode=True)
    except (UnicodeEncodeError, binascii.Error):
        raise BadRequest(
            "The image is a text, and no valid base64. Send the file itself, with an @ before its name: "
            "curl -F image=@car.jpg URL - or its bytes in base64: base64 -w0 car.jpg"
        ) from None
