"""`plate-gateway recognize`: plates of photos and of videos, through a gateway."""

import asyncio
import io
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gateway import telemetry
from gateway.client.address import is_url
from gateway.client.errors import ClientError, KeyRefused
from gateway.client.journal import JournalError
from gateway.client.photos import STANDARD_INPUT
from gateway.commands import photos, video
from gateway.commands.common import MISUSED, drop_output, fail, read_settings
from gateway.commands.destinations import DestinationError
from gateway.commands.interrupts import Interrupted, interrupt
from gateway.commands.photos import Order, OutputFormat
from gateway.commands.video import VideoOptions
from gateway.parameters import DEFAULT_CANDIDATES
from gateway.schemas import MAX_CANDIDATES
from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTritonError
from gateway.video.frames import Source

URL_VARIABLE: Final = "PLATE_GATEWAY_URL"
KEY_VARIABLE: Final = "PLATE_GATEWAY_API_KEY"
"""Not GATEWAY_...: those are the settings of a gateway, these belong to its clients."""

_FORMATS: Final = {".jsonl": OutputFormat.JSONL, ".ndjson": OutputFormat.JSONL, ".csv": OutputFormat.CSV}


def recognize(
    sources: Annotated[
        list[str],
        typer.Argument(help="Photos, folders of photos, - for the standard input; or videos, rtsp://... for a camera."),
    ],
    url: Annotated[
        str | None,
        typer.Option(
            envvar=URL_VARIABLE,
            help="A gateway's address. Without it: the gateway of this machine, or one started for this command.",
        ),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(envvar=KEY_VARIABLE, help="API key, where the gateway asks for one; best in the environment."),
    ] = None,
    format_: Annotated[
        OutputFormat | None, typer.Option("--format", "-f", help="By default what the output's name ends in, or table.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the answers; *.jsonl and *.csv are resumed.")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew what the output file holds.")] = False,
    annotate: Annotated[Path | None, typer.Option(help="Folder for copies with the plates drawn in.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=256, help="Requests under way at most.")] = 8,
    min_score: Annotated[float, typer.Option(min=0, max=1, help="Leave plates with a lower score out.")] = 0.0,
    candidates: Annotated[
        int, typer.Option(min=0, max=MAX_CANDIDATES, help="Texts to tell for each plate of a photo.")
    ] = DEFAULT_CANDIDATES,
    fps: Annotated[float, typer.Option(min=0.01, max=1000, help="Frames of a video to look at, per second.")] = 5.0,
    crops: Annotated[Path | None, typer.Option(help="Folder for a picture of each plate that passes a video.")] = None,
    min_frames: Annotated[int, typer.Option(min=1, help="Frames in which a plate has to be seen, in a video.")] = 2,
) -> None:
    """Read the plates of photos, or of videos: there one line for each plate that passes.

    Exit status: 0 all went well, 1 something didn't, 2 the options are wrong, 130 or 143 interrupted.
    """
    _check(sources, url, api_key, output)
    settings = read_settings()
    _configure_logging(settings)
    if format_ is None:
        format_ = _FORMATS.get(output.suffix.lower(), OutputFormat.TABLE) if output else OutputFormat.TABLE
    order = Order(
        sources=sources,
        url=url,
        key=api_key,
        format=format_,
        output=output,
        annotate=annotate,
        jobs=jobs,
        restart=restart,
        parameters={"min_score": min_score, "candidates": candidates},
    )
    videos = [source for source in sources if Source(source).is_video]
    if not videos:
        work = photos.run(order, settings)
    elif len(videos) == len(sources) and annotate is None:
        options = VideoOptions(fps=fps, crops=crops, least_frames=min_frames, least_score=min_score)
        work = video.run(order, options, settings)
    else:
        fail("Videos and photos have different answers: give them to two commands; --annotate is for photos.", MISUSED)
    raise typer.Exit(_run(work))


def _check(sources: list[str], url: str | None, key: str | None, output: Path | None) -> None:
    """End the command where an option, or what it was started with, can't be right."""
    if url is not None and not is_url(url):
        fail(f"{url!r} is no URL of a gateway: it is written http://host:port.", MISUSED)
    if key is not None and not (key.isascii() and key.isprintable() and key == key.strip()):
        fail(f"An API key is printable ASCII, no spaces around it: correct --api-key or {KEY_VARIABLE}.", MISUSED)
    if STANDARD_INPUT in sources and sys.stdin is None:
        fail("The standard input is closed: no photo can come from it.", MISUSED)
    if output is None and sys.stdout is None:
        fail("The standard output is closed: name a file with --output.", MISUSED)
    for source in sources:
        try:
            Source(source).is_video  # noqa: B018
        except ValueError:
            fail(f"{source!r} is no URL of a video.", MISUSED)


def _run(work: Coroutine[Any, Any, int]) -> int:
    """Run the work and return the exit status; what went wrong as a whole is said in a sentence."""
    # Before anything is under way it ends the command as Ctrl-C does: a Triton that has begun to start is stopped.
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return asyncio.run(work)
    except (DestinationError, JournalError) as error:
        fail(str(error), MISUSED)
    except KeyRefused as error:
        fail(f"{error} This command takes it from {KEY_VARIABLE}, or from --api-key.")
    except (ClientError, EmbeddedTritonError) as error:
        fail(str(error))
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        drop_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        drop_output()
        fail(f"The answers can't be written: {error.strerror or error}.")
    except Interrupted as error:
        return error.status
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 128 + signal.SIGINT


def _configure_logging(settings: Settings) -> None:
    """Let warnings through: the command itself says what it does."""
    quiet: dict[str, Any] = {"log_format": "text"}
    if "log_level" not in settings.model_fields_set:
        quiet["log_level"] = "warning"
    telemetry.configure(settings.model_copy(update=quiet))
    # A file's name may hold bytes that aren't UTF-8.
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Whoever reads along gets each line at once.
        sys.stdout.reconfigure(errors="backslashreplace", line_buffering=True)
