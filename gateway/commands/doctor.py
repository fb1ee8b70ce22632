"""`plate-gateway doctor`: what this machine has and lacks, and what mends it."""

import asyncio
import json
import time
from dataclasses import asdict
from typing import Annotated, Final

import typer

from gateway import telemetry
from gateway.commands.common import FAILED, answer, read_settings
from gateway.doctor import Finding, State, examine
from gateway.settings import Settings
from gateway.triton.embedded import EmbeddedTriton, EmbeddedTritonError

_COLOURS: Final = {State.GOOD: typer.colors.GREEN, State.NOTE: typer.colors.YELLOW, State.LACKING: typer.colors.RED}


def doctor(
    start: Annotated[bool, typer.Option("--start", help="Start the embedded Triton and stop it again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say what this machine has and lacks to run the service. Exit status: 1 where something needed lacks."""
    settings = read_settings()
    telemetry.configure(settings.model_copy(update={"log_level": "error", "log_format": "text"}))
    findings = []
    for finding in examine(settings):
        findings.append(finding)
        if not as_json:
            _show(finding)
    if start and settings.triton == "embedded":
        findings.append(asyncio.run(_start(settings)))
        if not as_json:
            _show(findings[-1])
    if as_json:
        answer(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    if any(finding.state is State.LACKING for finding in findings):
        raise typer.Exit(FAILED)


def _show(finding: Finding) -> None:
    state = typer.style(f"{finding.state:<8}", _COLOURS[finding.state])
    answer(f"{state} {finding.name:<17} {finding.detail}")
    if finding.mend:
        answer(f"{'':<26} -> {finding.mend}")


async def _start(settings: Settings) -> Finding:
    begin = time.monotonic()
    free = {"triton_http_port": 0, "triton_grpc_port": 0, "triton_metrics_port": 0}
    try:
        async with EmbeddedTriton(settings.model_copy(update=free)):
            return Finding("embedded Triton", State.GOOD, f"ready {time.monotonic() - begin:.1f} s after its start")
    except EmbeddedTritonError as error:
        return Finding("embedded Triton", State.LACKING, str(error))
