"""From the errors of gRPC and tritonclient to ours: the only place that knows theirs.

    GatewayError
    └── Unavailable
        ├── ConnectionLost    the request may not have arrived: worth one more try
        ├── RegionLost        Triton doesn't know the shared memory (any more): register it, try once more
        ├── RegionInUse       Triton may still read the shared memory
        └── Refused           Triton's shared memory isn't for us

A `detail` is read by strangers; what Triton said is in the chained cause, for the log.
"""

import contextlib
from collections.abc import Iterator

import grpc
from tritonclient.utils import InferenceServerException

from gateway.errors import DeadlineExceeded, GatewayError, Unavailable


class ConnectionLost(Unavailable):
    """Triton can't be reached, or went away in the middle."""


class RegionLost(Unavailable):
    """Triton doesn't know a region of shared memory: it was started after the region had been registered."""


class RegionInUse(Unavailable):
    """Triton doesn't let go of a region of shared memory yet: a request that it hasn't ended reads it."""


class Refused(Unavailable):
    """Triton doesn't take a region of shared memory; the detail says why and is for the operator."""


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Translate what a call of tritonclient raises.

    Raises:
        ConnectionLost, RegionLost, Unavailable, DeadlineExceeded: as their names say.
        GatewayError: Triton can't process the request.
    """
    try:
        yield
    except InferenceServerException as error:
        raise _ours(error) from error
    except grpc.aio.UsageError as error:
        raise ConnectionLost("The connection to Triton is closed.") from error


@contextlib.contextmanager
def translated_registration() -> Iterator[None]:
    """Translate what registering a region, unregistering one or asking for all of them raises.

    Raises:
        Refused: Triton can't open the region, doesn't share memory, or wants another key.
        RegionInUse: it can't be unregistered yet.
        ConnectionLost, DeadlineExceeded: as their names say.
    """
    try:
        yield
    except InferenceServerException as error:
        code, message = _code(error), error.message()
        if "in use" in message:
            raise RegionInUse("Triton may still read the image.") from error
        if code in {"DEADLINE_EXCEEDED", "CANCELLED"} or (code == "UNAVAILABLE" and not _restricted(message)):
            raise _ours(error) from error
        if _restricted(message):
            raise Refused("it asks for a key: set GATEWAY_TRITON_SHM_KEY") from error
        raise Refused(message) from error
    except grpc.aio.UsageError as error:
        raise ConnectionLost("The connection to Triton is closed.") from error


def _ours(error: InferenceServerException) -> GatewayError:
    match _code(error), error.message():
        case "NOT_FOUND", message if "shared memory region" in message:
            return RegionLost("Triton was restarted a moment ago.")
        case "NOT_FOUND", _:
            return Unavailable("Triton doesn't serve the models.")
        case "INTERNAL", message if "Stub process" in message:
            return ConnectionLost("A model of Triton broke down.")
        case "INTERNAL", message if "shared memory pool" in message:
            return Unavailable("Triton has no shared memory left for the image.")
        case _, message if "is not ready" in message or "Request for unknown model" in message:
            return Unavailable("Triton doesn't serve all models now.")
        case "UNAVAILABLE", message if "maximum queue size" in message:
            return Unavailable("Triton has as many requests as it takes.")
        case "CANCELLED", message if "Locally cancelled" not in message:
            return DeadlineExceeded("Triton gave the request up.")
        case "UNAVAILABLE" | "CANCELLED", _:
            return ConnectionLost("Triton is not available now.")
        case "DEADLINE_EXCEEDED", _:
            return DeadlineExceeded("Triton took too long.")
        case _:
            return GatewayError("Triton could not process the image.")


def _code(error: InferenceServerException) -> str:
    return (error.status() or "").removeprefix("StatusCode.")


def _restricted(message: str) -> bool:
    return "restricted" in message
