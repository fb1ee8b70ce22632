"""The picture of a request, in whichever way clients send one; kept in memory, whose size the body limit bounds."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from starlette.requests import Request

from gateway import encodings, images, multipart
from gateway.connection import while_connected
from gateway.errors import BadRequest, UnsupportedImage
from gateway.images import EncodedImage
from gateway.settings import Settings

_HOW: Final = (
    "Send the image as a file in the multipart form field `image`: curl -F image=@car.jpg URL - or as the body, with "
    "its type: curl --data-binary @car.jpg -H 'Content-Type: image/jpeg' URL"
)


def check_encoding(request: Request) -> None:
    """Check that a body comes as it is.

    Raises:
        UnsupportedImage: it is compressed; a small one may unfold to a very large one.
    """
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedImage(
            f"A body with Content-Encoding: {encoding[:64]} isn't read here. Send the image as it is: "
            "its format compresses it already."
        )


class Fetcher(Protocol):
    """Gets pictures from URLs."""

    def fetch(self, url: str) -> Coroutine[Any, Any, bytes]:
        """Return the bytes that a URL stands for.

        Raises:
            GatewayError: it isn't admitted, or doesn't give them.
        """
        ...


@dataclass(frozen=True, slots=True)
class Upload:
    """A picture that has arrived and whose header was found good."""

    image: EncodedImage
    arrived: float
    """When its last byte was there, by the event loop's clock."""
    deadline: float
    """When the answer has to be there, by that clock."""
    filename: str | None = None
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The values of the form's other fields."""


class Uploads:
    """Reads the pictures of requests."""

    def __init__(self, settings: Settings, fetcher: Fetcher) -> None:
        self._settings = settings
        self._fetcher = fetcher

    async def read(self, request: Request) -> Upload:
        """Read the request's body, and fetch the picture where that holds a URL.

        Raises:
            BadRequest: no picture, or none that can be told from its surroundings.
            UnsupportedImage: a body, or a picture, of a type that isn't read here.
            UnprocessableImage: the picture's header is broken.
            UnreachableImage: the picture's URL gives none.
            ContentTooLarge: too many pixels.
        """
        body = await self._read_body(request)
        if body.data is None and body.base64 is not None:
            body.data = await asyncio.to_thread(encodings.decode_base64, body.base64)
        elif body.data is None and body.url is not None:
            body.data = await while_connected(request, self._fetcher.fetch(body.url))
            body.arrived = _now()
        if body.data is None:
            raise BadRequest(f"The request holds no image. {_HOW}")
        return self.admit(body.data, body.arrived, body.filename, body.fields)

    def admit(
        self,
        data: bytes,
        arrived: float,
        filename: str | None = None,
        fields: Mapping[str, Sequence[str]] | None = None,
    ) -> Upload:
        """Return the upload of a picture whose last byte came at this time of the event loop's clock.

        Raises:
            BadRequest, UnsupportedImage, UnprocessableImage, ContentTooLarge: see `images.inspect`.
        """
        image = images.inspect(data, self._settings.max_pixels)
        return Upload(image, arrived, arrived + self._settings.deadline_seconds, filename, fields or {})

    async def _read_body(self, request: Request) -> "_Body":
        check_encoding(request)
        content_type = request.headers.get("Content-Type", "")
        kind = content_type.partition(";")[0].strip().lower()
        if kind == "multipart/form-data":
            return await self._read_form(request, content_type)
        parse = encodings.PARSERS.get(kind)
        is_picture = kind.startswith("image/") or kind in ("", "application/octet-stream")
        if parse is None and not is_picture:
            raise UnsupportedImage(f"A body of the type {kind[:64]} isn't read here. {_HOW}")
        data, arrived = await request.body(), _now()
        if not data and not kind:
            return _Body(arrived)
        # What curl --data-binary sends where nobody tells it a type: no such form holds bytes beyond ASCII.
        if parse is None or (kind == encodings.URL_ENCODED and not data.isascii()):
            return _Body(arrived, data=data)
        body = _Body(arrived)
        for name, text in await asyncio.to_thread(parse, data, self._settings.max_parts):
            body.add_text(name, text)
        return body

    async def _read_form(self, request: Request, content_type: str) -> "_Body":
        body = _Body(_now())
        async for part in multipart.parts(
            content_type,
            request.stream(),
            max_parts=self._settings.max_parts,
            max_part_bytes=self._settings.max_body_bytes,
        ):
            if part.name in encodings.IMAGE_FIELDS and part.filename is None and not part.data.isascii():
                raise BadRequest(
                    f"The form's field `{part.name}` holds bytes and lacks a filename, by which files are told from "
                    f"texts. {_HOW}"
                )
            if part.name not in encodings.IMAGE_FIELDS or part.filename is None:
                body.add_text(part.name, part.text)
            elif body.data is None:
                body.data, body.filename = part.data, part.filename
            else:
                raise BadRequest("The form holds several images. Send one, or all of them to /recognize/batch.")
        body.arrived = _now()
        return body


def _now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(slots=True)
class _Body:
    """What a body holds: the bytes of a picture, or something that they come from."""

    arrived: float
    data: bytes | None = None
    base64: str | None = None
    url: str | None = None
    filename: str | None = None
    fields: dict[str, list[str]] = field(default_factory=dict)

    def add_text(self, name: str, text: str) -> None:
        """Take in one field that isn't a file."""
        if name in encodings.IMAGE_FIELDS:
            self.base64 = text
        elif name in encodings.URL_FIELDS and text:
            self.url = text
        else:
            self.fields.setdefault(name, []).append(text)
