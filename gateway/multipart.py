"""multipart/form-data (RFC 7578) as a stream: each part is handed on as soon as it has arrived.

Starlette's parser returns when the whole form is there, and passes every file through a file object; here a part's
bytes are copied once, into the object that is handed on.
"""

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from gateway.errors import BadRequest

_NO_NAME: Final = "a part has no name"


@dataclass(frozen=True, slots=True)
class Part:
    """One field or file of a form."""

    name: str
    filename: str | None
    """None for a field that isn't a file."""
    data: bytes
    """Empty where the part is larger than it may be."""
    oversized: bool = False

    @property
    def text(self) -> str:
        """The field's value; bytes that aren't UTF-8 are replaced."""
        return self.data.decode(errors="replace")


@dataclass(slots=True)
class _Collector:
    """Takes the parser's events for one part after the other."""

    max_part_bytes: int
    complete: list[Part] = field(default_factory=list)
    ended: bool = False
    _header_name: bytes = b""
    _header_value: bytes = b""
    _disposition: bytes = b""
    _chunks: list[memoryview] = field(default_factory=list)
    _size: int = 0

    def on_part_begin(self) -> None:
        self._disposition = b""
        self._chunks = []
        self._size = 0

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def on_header_end(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            self._disposition = self._header_value
        self._header_name = self._header_value = b""

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self._size += end - start
        if self._size > self.max_part_bytes:
            self._chunks.clear()
        else:
            self._chunks.append(memoryview(data)[start:end])

    def on_part_end(self) -> None:
        _, options = parse_options_header(self._disposition)
        if b"name" not in options:
            raise BadRequest(_broken(_NO_NAME))
        filename = options.get(b"filename")
        self.complete.append(
            Part(
                options[b"name"].decode(errors="replace"),
                None if filename is None else filename.decode(errors="replace"),
                b"".join(self._chunks),
                oversized=self._size > self.max_part_bytes,
            )
        )
        self._chunks = []

    def on_end(self) -> None:
        self.ended = True


async def parts(
    content_type: str, chunks: AsyncIterable[bytes], *, max_parts: int, max_part_bytes: int
) -> AsyncIterator[Part]:
    """Yield the parts of a form, in their order, each as soon as its last byte is there.

    Args:
        content_type: the request's header of that name; holds the boundary.
        chunks: the request's body.
        max_parts: fields and files, all together.
        max_part_bytes: a larger part is handed on without its bytes.

    Raises:
        BadRequest: the form is broken, ends early or has too many parts.
    """
    _, parameters = parse_options_header(content_type)
    if not parameters.get(b"boundary"):
        raise BadRequest(_broken("its Content-Type has no boundary"))
    collector = _Collector(max_part_bytes)
    try:
        parser = MultipartParser(
            parameters[b"boundary"],
            {
                "on_part_begin": collector.on_part_begin,
                "on_header_field": collector.on_header_field,
                "on_header_value": collector.on_header_value,
                "on_header_end": collector.on_header_end,
                "on_part_data": collector.on_part_data,
                "on_part_end": collector.on_part_end,
                "on_end": collector.on_end,
            },
        )
        count = 0
        async for chunk in chunks:
            parser.write(chunk)
            for part in collector.complete:
                count += 1
                if count > max_parts:
                    raise BadRequest(f"The form has more than {max_parts} parts. Send fewer.")
                yield part
            collector.complete.clear()
    except FormParserError as error:
        raise BadRequest(_broken("its parts can't be told apart")) from error
    if not collector.ended:
        raise BadRequest(_broken("it ends before its last boundary"))


def _broken(how: str) -> str:
    return f"The multipart form can't be read: {how}. Let your HTTP library make the form and its headers."
