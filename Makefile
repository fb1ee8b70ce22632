.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The embedded Triton runs models under Python 3.11 and 3.12: where python3 is another one, one of those is taken if there
# is any.
PYTHON ?= $(shell for python in python3 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null \
	&& echo $$python && exit; done; echo python3)
TORCH := torch==2.13.0
VENV := .venv
BIN := $(VENV)/bin
# The pinned set is complete, so pip resolves nothing.
PIP_INSTALL := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet
# ONNX Runtime's Linux builds report to their maker unless told not to.
export ORT_DISABLE_TELEMETRY := 1

.PHONY: help setup setup-dev setup-browser setup-train setup-gpu run test test-nets test-browser test-gpu lint export \
        train-detector train-reader evaluate evaluate-nets calibrate bench bench-cli chaos soak cancel-storm peers requirements clean

help:  ## say what each target does
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, best 3.12")'
	$(PYTHON) -m venv $(VENV)

# One stamp per set: a set is installed again when its pinned file or the package's metadata changes.
$(VENV)/.%: requirements/%.txt pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) --require-hashes --no-deps -r $<
	$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.torch: $(VENV)/.train
	$(PIP_INSTALL) $(TORCH)
	@touch $@

setup: $(VENV)/.embedded  ## a virtual environment with what the service needs

setup-dev: $(VENV)/.dev

setup-browser: $(VENV)/.browser

setup-train: $(VENV)/.torch

setup-gpu: setup-train $(VENV)/.gpu

run: setup  ## start Triton and the gateway on this machine
	$(BIN)/plate-gateway serve

test: setup-dev  ## the tests, a real Triton included; no PyTorch, no browser
	$(BIN)/pytest -m "not torch and not browser and not gpu"

test-nets: setup-train  ## the tests of the networks, which need PyTorch
	$(BIN)/pytest -m torch

test-browser: setup-browser  ## the tests of the pages in a headless Chromium
	$(BIN)/pytest -m browser

test-gpu: setup-gpu export  ## the tests of the whole way on an NVIDIA GPU; skipped where there is none
	$(BIN)/pytest -m gpu

lint: setup-browser setup-train  ## ruff and mypy, which reads PyTorch's types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

export: setup-train  ## weights -> ONNX and TorchScript in model_repository, compared with the networks
	$(BIN)/python -m nets.export $(ARGS)

train-detector: setup-train  ## train YOLOv5 (resumes)
	$(BIN)/python -m nets.train_detector $(ARGS)

train-reader: setup-train  ## train STN and LPRNet (resumes)
	$(BIN)/python -m nets.train_reader $(ARGS)

evaluate: setup-dev  ## count found and read plates of ../shared/data through the service
	$(BIN)/python -m nets.evaluate $(ARGS)

evaluate-nets: setup-dev  ## the same without the service
	$(BIN)/python -m nets.evaluate_nets $(ARGS)

calibrate: setup-dev  ## fit how sure the reader is on photos that it wasn't trained on
	$(BIN)/python -m nets.calibrate $(ARGS)

bench: setup-dev  ## the service beside a bare loop of the same networks, and the transports beside each other
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.transport

bench-cli: setup-dev  ## the command recognize beside a bare loop of requests
	$(BIN)/python -m benchmarks.cli $(ARGS)

chaos: setup-dev  ## kill and stop everything under load: no wrong answer, nothing left behind
	$(BIN)/python -m benchmarks.chaos $(ARGS)

soak: setup-dev  ## ten thousand requests: memory stays flat
	$(BIN)/python -m benchmarks.soak $(ARGS)

cancel-storm: setup-dev  ## a thousand requests cancelled at random moments: the pool stays whole
	$(BIN)/python -m benchmarks.cancel_storm $(ARGS)

peers: setup-dev  ## other readers of plates on the same photos
	$(BIN)/python -m benchmarks.peers $(ARGS)

UV := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-annotate --no-header \
      --python-version 3.11
UV_COMPILE := $(UV) requirements/build.in pyproject.toml

requirements: setup-dev  ## pin again what pyproject.toml asks for
	$(UV_COMPILE) --output-file requirements/base.txt
	$(UV_COMPILE) --extra embedded --output-file requirements/embedded.txt
	$(UV_COMPILE) --extra embedded --extra dev --output-file requirements/dev.txt
	$(UV_COMPILE) --extra embedded --extra dev --extra browser --output-file requirements/browser.txt
	$(UV_COMPILE) --extra embedded --extra dev --extra train --no-emit-package torch --output-file requirements/train.txt
	$(UV_COMPILE) --extra embedded --extra dev --extra train --extra cuda --no-emit-package torch --output-file requirements/gpu.txt
	$(UV) requirements/triton.in --output-file requirements/triton.txt

clean:  ## remove the virtual environment and what was built
	rm -rf $(VENV) build *.egg-info
