"""The sockets that the gateway listens on."""

import socket

import pytest
import typer

from gateway.commands import listeners


def addresses(*found: tuple[socket.AddressFamily, str]) -> list[tuple[object, ...]]:
    """What getaddrinfo says of a host with these addresses."""
    return [(family, socket.SOCK_STREAM, 6, "", (address, 0)) for family, address in found]


def close(sockets: list[socket.socket]) -> None:
    for listener in sockets:
        listener.close()


def test_every_address_of_a_host_is_listened_on_with_the_same_port(monkeypatch: pytest.MonkeyPatch) -> None:
    found = addresses((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "127.0.0.2"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    sockets = listeners.listen("both", 0)
    names = [listener.getsockname() for listener in sockets]
    close(sockets)
    assert [name[0] for name in names] == ["127.0.0.1", "127.0.0.2"]
    assert len({name[1] for name in names}) == 1


def test_an_address_that_this_machine_lacks_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # As ::1 on a machine that has IPv6 switched off; 192.0.2.1 is nobody's (RFC 5737).
    found = addresses((socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "127.0.0.1"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    sockets = listeners.listen("localhost", 0)
    url = listeners.url(sockets)
    close(sockets)
    assert url.startswith("http://127.0.0.1:")


def test_a_host_with_no_address_of_this_machine_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses((socket.AF_INET, "192.0.2.1")))
    with pytest.raises(typer.Exit):
        listeners.listen("elsewhere", 0)
    assert "Can't listen on elsewhere" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["a..b", "x" * 70 + ".example"])
def test_what_is_no_host_name_is_refused(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        listeners.listen(host, 0)
    assert capsys.readouterr().err == f"There is no address {host!r} to listen on: set GATEWAY_HOST.\n"


def test_a_port_taken_on_one_address_is_refused_and_nothing_is_left_open(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = addresses((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "127.0.0.2"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with socket.create_server(("127.0.0.2", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(typer.Exit):
            listeners.listen("both", port)
        assert f"Port {port} of both is taken" in capsys.readouterr().err
    close(listeners.listen("both", port))


def test_no_answer_waits_for_the_client_to_acknowledge_its_first_part() -> None:
    sockets = listeners.listen("127.0.0.1", 0)
    with socket.create_connection(sockets[0].getsockname()), sockets[0].accept()[0] as accepted:
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    close(sockets)
