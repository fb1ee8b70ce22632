"""The choice of ports."""

import socket

from gateway.triton import ports


def listener() -> socket.socket:
    sock = socket.create_server((ports.LOOPBACK, 0))
    sock.listen()
    return sock


def unused() -> int:
    with listener() as sock:
        port: int = sock.getsockname()[1]
    return port


def test_a_free_port_is_taken_as_wanted() -> None:
    wanted = unused()
    assert ports.is_free(wanted)
    assert ports.choose([wanted]) == [wanted]


def test_a_taken_port_is_replaced_and_the_others_are_kept() -> None:
    with listener() as sock:
        taken, wanted = sock.getsockname()[1], unused()
        assert not ports.is_free(taken)
        replaced, kept = ports.choose([taken, wanted])
        assert replaced not in (0, taken, wanted)
        assert kept == wanted


def test_a_port_taken_on_all_addresses_is_taken() -> None:
    with socket.create_server(("0.0.0.0", 0)) as sock:  # noqa: S104 - the case under test
        assert not ports.is_free(sock.getsockname()[1])


def test_no_port_is_given_twice() -> None:
    wanted = unused()
    chosen = ports.choose([wanted, wanted, 0, 0])
    assert len(set(chosen)) == 4
    assert 0 not in chosen
