"""Whose turn it is: clients take turns, however many requests each of them sends."""

import asyncio
import collections
from typing import Generic, TypeVar

from gateway.errors import TooManyRequests, Unavailable

Place = TypeVar("Place")


class Turns(Generic[Place]):
    """Those who wait for a place. A free place goes to the client whose turn it is, and there to its oldest request.

    Args:
        places_per_client: places that one client may have at once.
        waiting: requests that may wait at once.
        waiting_per_client: requests of one client that may wait at once.
    """

    def __init__(self, places_per_client: int, waiting: int, waiting_per_client: int) -> None:
        self._places_per_client = places_per_client
        self._most = waiting
        self._most_per_client = waiting_per_client
        self._queues: collections.OrderedDict[str, collections.deque[asyncio.Future[Place]]] = collections.OrderedDict()
        self._held: collections.Counter[str] = collections.Counter()

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return sum(map(len, self._queues.values()))

    def admits(self, client: str) -> bool:
        """Say whether this client may have another place now."""
        return self._held[client] < self._places_per_client

    def take(self, client: str) -> None:
        """Count a place as this client's."""
        self._held[client] += 1

    def give_back(self, client: str) -> None:
        """Count it as nobody's again."""
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]

    def wait(self, client: str) -> asyncio.Future[Place]:
        """Queue up; the future's result is the place, counted already.

        Raises:
            TooManyRequests: too many requests of this client wait.
            Unavailable: too many requests wait.
        """
        if len(self._queues.get(client, ())) >= self._most_per_client:
            raise TooManyRequests(f"{self._most_per_client} of your requests are waiting already: send fewer at once.")
        if self.waiting >= self._most:
            raise Unavailable(f"{self._most} requests are waiting already.")
        waiter: asyncio.Future[Place] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, collections.deque()).append(waiter)
        return waiter

    def leave(self, client: str, waiter: asyncio.Future[Place]) -> None:
        """Wait no longer."""
        queue = self._queues.get(client)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._queues[client]

    def serve(self, place: Place) -> bool:
        """Hand a place to whose turn it is; False where nobody waits that may have it."""
        for client, queue in self._queues.items():
            while queue and queue[0].done():
                queue.popleft()  # cancelled, and not yet run to leave
            if queue and self.admits(client):
                waiter = queue.popleft()
                self._queues.move_to_end(client)
                if not queue:
                    del self._queues[client]
                self.take(client)
                waiter.set_result(place)
                return True
        return False
