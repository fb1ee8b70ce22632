"""The running service against its own description: what schemathesis makes up, valid and invalid, pictures included."""

import asyncio
import os
import sys
from pathlib import Path

import httpx

from tests.service import schemathesis_hooks

SECONDS = 150
"""It takes about 35 on two processors."""


async def test_the_service_does_what_its_description_says(url: str, tmp_path: Path) -> None:
    """No 5xx, no undocumented status, type or header, no answer beside its schema.

    Nothing valid is refused, and nothing invalid answered.
    """
    options = [
        "--max-examples=8",
        "--phases=examples,coverage,fuzzing",
        "--mode=all",
        "--seed=1",
        "--no-shrink",
    ]
    options += ["--suppress-health-check=all", "--request-timeout=20", "--continue-on-failure"]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", *options),
        cwd=tmp_path,
        env=os.environ | {"SCHEMATHESIS_HOOKS": schemathesis_hooks.__file__},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(SECONDS):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    report = output.decode()
    assert process.returncode == 0, report
    assert "Operations:       8 selected / 8 total" in report
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"{url}/health/ready")).status_code == 200
