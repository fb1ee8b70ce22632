"""Everything the gateway says no with, each class with its HTTP status.

    GatewayError
    ├── BadRequest            400
    ├── Unauthorized          401, WWW-Authenticate
    ├── RequestTimeout        408
    ├── ContentTooLarge       413
    ├── UnsupportedImage      415
    ├── UnprocessableImage    422
    ├── UnreachableImage      422
    ├── TooManyRequests       429, Retry-After
    ├── Unavailable           503, Retry-After
    └── DeadlineExceeded      504, Retry-After

`detail` is written for the person at the other end: what was wrong and what to do. It never holds a stack, a path or
a text read from a plate.
"""

from typing import ClassVar, Final


class GatewayError(Exception):
    """A request that can't be answered; `detail` says why and what to do."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"
    retry_after: int | None = None
    """Seconds after which trying again makes sense; None where it doesn't."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def headers(self) -> dict[str, str]:
        """Return the HTTP headers that belong to the answer."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


class BadRequest(GatewayError):
    """The request has no image in it, or a parameter is wrong."""

    status = 400
    title = "Bad request"


class Unauthorized(GatewayError):
    """The request has no API key, or an unknown one."""

    status = 401
    title = "Unauthorized"

    def headers(self) -> dict[str, str]:
        """Return the challenge that RFC 9110 asks for."""
        return {"WWW-Authenticate": "Bearer"}


class RequestTimeout(GatewayError):
    """The body didn't arrive in time."""

    status = 408
    title = "Request timeout"


class ContentTooLarge(GatewayError):
    """More bytes, pixels or files than the settings admit."""

    status = 413
    title = "Content too large"


class UnsupportedImage(GatewayError):
    """The bytes are not an image in a format that is read here."""

    status = 415
    title = "Unsupported media type"


class UnprocessableImage(GatewayError):
    """An image by its header, but it can't be decoded."""

    status = 422
    title = "Unprocessable image"


class UnreachableImage(GatewayError):
    """The image's URL gives no image."""

    status = 422
    title = "Unreachable image"


class TooManyRequests(GatewayError):
    """This client sends more requests than it may."""

    status = 429
    title = "Too many requests"
    retry_after = 1

    def __init__(self, detail: str, retry_after: int = 1) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Unavailable(GatewayError):
    """Triton is away, not ready or full."""

    status = 503
    title = "Service unavailable"
    retry_after = 2


class DeadlineExceeded(GatewayError):
    """The answer took longer than the deadline."""

    status = 504
    title = "Deadline exceeded"
    retry_after = 2


OF_A_PICTURE: Final = (
    BadRequest,
    Unauthorized,
    RequestTimeout,
    ContentTooLarge,
    UnsupportedImage,
    UnprocessableImage,
    UnreachableImage,
    TooManyRequests,
    Unavailable,
    DeadlineExceeded,
)
"""What a request with a picture may be refused with."""
