import subprocess
import sys
from pathlib import Path

import pytest

from nets import service
from nets.service import NoServiceError


def test_an_address_where_nothing_answers_is_an_error_and_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    url = f"http://127.0.0.1:{service.free_port()}"
    with pytest.raises(NoServiceError, match=f"Nothing answers at {url}"), service.service(url):
        pass


def test_a_service_that_dies_at_start_is_reported_with_its_last_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "DEFAULT_URL", f"http://127.0.0.1:{service.free_port()}")
    monkeypatch.setattr(service, "SERVE", (sys.executable, "-c", "raise SystemExit('no tritonserver here')"))
    with pytest.raises(NoServiceError, match="no tritonserver here"), service.service(None):
        pass


def test_a_folder_of_models_is_what_the_started_service_gets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    says = "import os; raise SystemExit(os.environ['GATEWAY_MODEL_REPOSITORY'])"
    monkeypatch.setattr(service, "SERVE", (sys.executable, "-c", says))
    with pytest.raises(NoServiceError, match=str(tmp_path)), service.service(None, tmp_path):
        pass
