"""What a client of the gateway can meet.

ClientError
├── PhotoRefused      this photo can't be answered; others can
└── GatewayUnusable   nothing can be answered: the gateway is away, full for too long, or wants a key
    └── KeyRefused    it wants one, or another one
"""


class ClientError(Exception):
    """What went wrong, in a sentence for the person who started the command."""


class PhotoRefused(ClientError):
    """This photo can't be answered, the next one may.

    Attributes:
        status: HTTP status of the answer; 0 where the photo wasn't sent.
    """

    def __init__(self, detail: str, status: int = 0) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status


class GatewayUnusable(ClientError):
    """There is no point in sending another photo now."""


class KeyRefused(GatewayUnusable):
    """The gateway asks for an API key, and none was sent, or an unknown one."""
