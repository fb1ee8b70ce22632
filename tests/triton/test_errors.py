"""Errors of gRPC and tritonclient become ours."""

import grpc
import pytest
from tritonclient.utils import InferenceServerException

from gateway.errors import DeadlineExceeded, GatewayError, Unavailable
from gateway.triton.errors import ConnectionLost, Refused, RegionInUse, RegionLost, translated, translated_registration

INNER = "/models/plate_recognition/1/model.py: tensor input__0"


def failure(code: str, message: str) -> InferenceServerException:
    return InferenceServerException(message, status=f"StatusCode.{code}")


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        ("UNAVAILABLE", "failed to connect to all addresses", ConnectionLost),
        ("CANCELLED", "Locally cancelled by application!", ConnectionLost),
        ("CANCELLED", "The request's time is over.", DeadlineExceeded),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", DeadlineExceeded),
        ("UNAVAILABLE", "Exceeds maximum queue size", Unavailable),
        ("UNAVAILABLE", "Request for unknown model: 'stn' has no available versions", Unavailable),
        ("INTERNAL", "stn: Failed for execute the inference request. Model 'stn' is not ready.", Unavailable),
        ("NOT_FOUND", "Unable to find shared memory region: 'plate-gateway-1-00000000-0'", RegionLost),
        ("NOT_FOUND", "Request for unknown model: 'plate_recognition' is not found", Unavailable),
        ("INTERNAL", "Stub process 'yolo_net_0_0' is not healthy.", ConnectionLost),
        ("INTERNAL", "Failed to increase the shared memory pool size for key '/x' to 9 bytes.", Unavailable),
        ("INTERNAL", INNER, GatewayError),
        ("INVALID_ARGUMENT", INNER, GatewayError),
        ("UNKNOWN", INNER, GatewayError),
    ],
)
def test_a_call_fails_with_an_error_of_ours(code: str, message: str, expected: type[GatewayError]) -> None:
    cause = failure(code, message)
    with pytest.raises(GatewayError) as caught, translated():
        raise cause
    assert type(caught.value) is expected
    assert caught.value.__cause__ is cause
    assert message not in caught.value.detail


def test_a_closed_channel_is_a_lost_connection() -> None:
    for translation in (translated, translated_registration):
        with pytest.raises(ConnectionLost), translation():
            raise grpc.aio.UsageError("Channel is closed.")


def test_other_exceptions_pass() -> None:
    with pytest.raises(ZeroDivisionError), translated():
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("code", "message", "expected", "detail"),
    [
        ("INTERNAL", "Unable to open shared memory region", Refused, "Unable to open shared memory region"),
        ("UNIMPLEMENTED", "shared memory is disabled", Refused, "shared memory is disabled"),
        ("UNAVAILABLE", "This protocol is restricted, expecting header ...", Refused, "GATEWAY_TRITON_SHM_KEY"),
        ("INTERNAL", "Cannot unregister shared memory region 'x', it is currently in use.", RegionInUse, "still read"),
        ("UNAVAILABLE", "failed to connect to all addresses", ConnectionLost, "not available"),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", DeadlineExceeded, "too long"),
    ],
)
def test_a_call_about_regions_is_refused_or_fails(
    code: str, message: str, expected: type[GatewayError], detail: str
) -> None:
    with pytest.raises(expected, match=detail), translated_registration():
        raise failure(code, message)
