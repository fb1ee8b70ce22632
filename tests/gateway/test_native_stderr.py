"""What C libraries say on the standard error stream, in a process of its own."""

import json
import subprocess
import sys

SCRIPT = """
import ctypes, os, sys
from gateway import native_stderr, telemetry
from gateway.settings import Settings

with native_stderr.relayed():
    telemetry.configure(Settings(log_format="json", log_level=sys.argv[1]))
    os.write(2, b"libpng error: said by C\\n")
    print("said by Python", file=sys.stderr)
    if len(sys.argv) > 2:
        ctypes.string_at(0)
print("afterwards", file=sys.stderr)
os.write(2, b"and from C\\n")
"""


def said(*arguments: str) -> list[str]:
    command = [sys.executable, "-c", SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()


def test_c_libraries_are_not_heard_among_the_log_lines() -> None:
    assert said("info") == ["said by Python", "afterwards", "and from C"]


def test_what_they_say_is_in_the_log_at_level_debug() -> None:
    (line,) = [json.loads(line) for line in said("debug") if line.startswith("{")]
    assert (line["level"], line["logger"]) == ("debug", "gateway.native_stderr")
    assert line["message"] == "libpng error: said by C"


def test_a_crash_is_told() -> None:
    assert any("Segmentation fault" in line for line in said("info", "crash"))
