# syntax=docker/dockerfile:1
# NVIDIA's Triton with the models and the kernel that the Python ones import. Build it from the repository's root:
#   docker build --file deploy/triton.Dockerfile --target gpu --tag plate-triton .
# The target cpu serves the committed ONNX files and needs no PyTorch to build.
#
# 26.09 is Triton 2.73, the version of the pinned tritonclient. Before 25.07 the Python backend and the shared-memory
# protocol have known holes (CVE-2025-23310, -23311, -23319, -23320, -23334).
ARG TRITON=26.09
ARG PYTHON=3.12-slim-trixie

FROM python:${PYTHON} AS export
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv /opt/venv
COPY requirements/train.txt requirements/
RUN /opt/venv/bin/python -m pip install --require-hashes --no-deps --requirement requirements/train.txt
# Tracing needs no GPU: an index that has a CPU build of PyTorch (--build-arg TORCH_INDEX_URL=...) saves gigabytes here.
# Nothing of this stage but the traced networks is kept.
ARG TORCH_INDEX_URL=
RUN /opt/venv/bin/python -m pip install ${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"} torch==2.13.0
COPY plates plates
COPY nets nets
COPY model_repository model_repository
RUN /opt/venv/bin/python -m nets.export

FROM nvcr.io/nvidia/tritonserver:${TRITON}-py3 AS cpu
USER root
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
# Triton runs Python models with the environment of the python3 that it finds first. One of our own leaves the packages
# of the image's distribution alone, as it wants it (PEP 668). PYTHONPATH would not do: before pybind11 2.10.4 embedded
# interpreters don't read it.
RUN python3 -m venv --without-pip /opt/kernel
COPY requirements/triton.txt requirements/
RUN python3 -m pip --python /opt/kernel install --require-hashes --no-deps --requirement requirements/triton.txt
COPY pyproject.toml README.md LICENSE ./
COPY plates plates
RUN python3 -m pip --python /opt/kernel install --no-deps --no-build-isolation .
ENV PATH=/opt/kernel/bin:$PATH
COPY --chmod=755 deploy/triton.sh /opt/plate-triton
# Readable by whoever runs Triton, whatever umask they were checked out with.
COPY --chmod=a+rX model_repository /models
ENV TRITON_MODEL_CONFIG=cpu
WORKDIR /
# triton-server, by number so that Kubernetes can tell that it isn't root.
USER 1000:1000
EXPOSE 8000 8001 8002
HEALTHCHECK --interval=5s --timeout=5s --start-period=180s \
    CMD curl --fail --silent --output /dev/null http://127.0.0.1:8000/v2/health/ready
CMD ["/opt/plate-triton"]

FROM cpu AS gpu
USER root
# The Python models keep images on the GPU with it.
RUN python3 -m pip --python /opt/kernel install torch==2.13.0
USER 1000:1000
COPY --from=export --chmod=a+rX /src/model_repository /models
ENV TRITON_MODEL_CONFIG=
