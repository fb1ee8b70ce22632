"""Which of several media types a client prefers (RFC 9110, 12.5.1)."""

from collections.abc import Sequence


def preferred(accept: str, offers: Sequence[str]) -> str:
    """Return the offer that the header Accept prefers; the first one where it doesn't care, or wants none of them."""
    ranges = [_parse(item) for item in accept.split(",") if item.strip()]
    if not ranges:
        return offers[0]
    # The first of equals: max keeps it.
    return max(offers, key=lambda offer: _quality(offer, ranges))


def _parse(item: str) -> tuple[str, float]:
    media_range, *parameters = (part.strip().lower() for part in item.split(";"))
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = float(value)
            except ValueError:
                quality = 0.0
    return media_range, quality


def _quality(offer: str, ranges: list[tuple[str, float]]) -> float:
    """Return the quality of the most specific range that the offer is in."""
    for candidate in (offer, f"{offer.partition('/')[0]}/*", "*/*"):
        for media_range, quality in ranges:
            if media_range == candidate:
                return quality
    return 0.0
