# syntax=docker/dockerfile:1
# The gateway for production: no Triton, no PyTorch. Build it from the repository's root:
#   docker build --file deploy/gateway.Dockerfile --tag plate-gateway .
ARG PYTHON=3.12-slim-trixie

FROM python:${PYTHON} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv /opt/venv
COPY requirements/base.txt requirements/
RUN /opt/venv/bin/python -m pip install --require-hashes --no-deps --requirement requirements/base.txt
COPY pyproject.toml README.md LICENSE ./
COPY plates plates
COPY gateway gateway
RUN /opt/venv/bin/python -m pip install --no-deps --no-build-isolation .

FROM python:${PYTHON}
# The same id as triton-server has in NVIDIA's image: the slots of shared memory are files of mode 0600, and Triton
# opens them by name.
RUN groupadd --gid 1000 gateway && useradd --uid 1000 --gid 1000 --no-create-home --shell /usr/sbin/nologin gateway
COPY --from=build /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    GATEWAY_HOST=0.0.0.0 \
    GATEWAY_PORT=8080 \
    GATEWAY_TRITON=external
USER 1000:1000
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD python -c "import httpx; httpx.get('http://127.0.0.1:$GATEWAY_PORT/health/live').raise_for_status()"
ENTRYPOINT ["plate-gateway"]
CMD ["serve"]
