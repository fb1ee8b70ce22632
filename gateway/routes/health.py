"""GET /health/live and /health/ready, for people and for an orchestrator's probes."""

from fastapi import APIRouter, Response

from gateway.recognizer import Recognizer
from gateway.schemas import Health


def router(recognizer: Recognizer) -> APIRouter:
    """Return the router."""
    routes = APIRouter(prefix="/health", tags=["health"])

    # Some monitors ask for the head alone.
    @routes.head("/live", include_in_schema=False)
    @routes.get("/live", summary="Is the process alive?")
    async def live() -> Health:
        """Answer 200 as long as the gateway runs; Triton isn't asked."""
        return Health(status="live", detail="The gateway runs.")

    @routes.head("/ready", include_in_schema=False)
    @routes.get(
        "/ready",
        summary="Would a request be answered now?",
        responses={503: {"model": Health, "description": "Not now; `detail` says why."}},
    )
    async def ready(response: Response) -> Health:
        """Answer 200 when the models are loaded and warm, 503 otherwise."""
        readiness = await recognizer.readiness()
        response.status_code = 200 if readiness.ready else 503
        return Health(
            status="ready" if readiness.ready else "not ready",
            detail=readiness.detail,
            transport=readiness.transport,
            refused=dict(readiness.refused),
        )

    return routes
