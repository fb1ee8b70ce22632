"""What the tests of the HTTP layer share."""

import httpx

from gateway import problems


def assert_problem(response: httpx.Response, status: int, detail: str) -> None:
    """Check that a response is a problem with this status, whose detail holds this text."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == problems.MEDIA_TYPE
    body = response.json()
    assert body.keys() == {"type", "title", "status", "detail"}
    assert body["status"] == status
    assert detail in body["detail"]
