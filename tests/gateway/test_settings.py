"""The settings: what is refused before anything is started with it."""

import pytest
from pydantic import ValidationError

from gateway.settings import Settings

DIGEST = "0" * 64


@pytest.mark.parametrize("field", ["upload_seconds", "deadline_seconds", "url_seconds", "triton_startup_seconds"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e30", "0", "-1"])
def test_a_time_is_finite_and_sensible(field: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"GATEWAY_{field.upper()}", value)
    with pytest.raises(ValidationError, match=field):
        Settings()
    monkeypatch.setenv(f"GATEWAY_{field.upper()}", "3600")
    assert getattr(Settings(), field) == 3600


@pytest.mark.parametrize(
    "field",
    [
        "max_body_bytes",
        "max_pixels",
        "max_parts",
        "max_batch_files",
        "max_batch_bytes",
        "slot_bytes",
        "slots",
        "workers",
        "cuda_device",
    ],
)
def test_a_size_has_an_upper_bound(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"GATEWAY_{field.upper()}", str(2**63))
    with pytest.raises(ValidationError, match=field):
        Settings()


@pytest.mark.parametrize("rate", ["0/minute", "1/0 minute", "0/0 hour", "often"])
def test_a_rate_admits_something(rate: str) -> None:
    with pytest.raises(ValidationError, match="rate"):
        Settings(rate_limit=rate)


@pytest.mark.parametrize("rate", ["1/minute", "10/5 seconds"])
def test_a_rate_that_does_is_taken(rate: str) -> None:
    assert Settings(rate_limit=rate).rate_limit == rate


@pytest.mark.parametrize(
    "origin",
    [
        "example.org",
        "https://",
        "https://example.org/",
        "https://example.org/page",
        "https://Example.org",
        "https://*.example.org",
        "https://example.org:port",
        "https://user@example.org",
    ],
)
def test_what_is_no_origin_is_refused(origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_CORS_ORIGINS", origin)
    with pytest.raises(ValidationError, match="no origin"):
        Settings()


def test_origins_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    origins = ("https://example.org", "http://localhost:3000", "http://[::1]:8080", "http://10.0.0.1", "*")
    monkeypatch.setenv("GATEWAY_CORS_ORIGINS", ", ".join(origins))
    assert Settings().cors_origins == origins


def test_two_keys_do_not_have_one_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_API_KEYS", f"gate:{DIGEST} yard:{DIGEST} gate:{'1' * 64}")
    with pytest.raises(ValidationError, match="several keys have the id gate"):
        Settings()
