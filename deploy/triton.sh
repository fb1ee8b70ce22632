#!/bin/sh
# Starts tritonserver in its container; arguments are passed on to it. From the environment:
#   TRITON_SHM_KEY       the key that opens the protocols with which a stranger could read this machine's memory or
#                        write its files; without one they are open
#   TRITON_MODEL_CONFIG  which of a model's configs/NAME.pbtxt to use; empty: its config.pbtxt
#   NVIDIA_TRITON_SERVER_VERSION  the image's release, YY.MM; the image sets it
set -eu

restricted=shared-memory,model-repository,logging,trace:plate-gateway=${TRITON_SHM_KEY:-}
if [ -n "${TRITON_SHM_KEY:-}" ]; then
    set -- --grpc-restricted-protocol="$restricted" --http-restricted-api="$restricted" "$@"
fi
if [ -n "${TRITON_MODEL_CONFIG:-}" ]; then
    set -- --model-config-name="$TRITON_MODEL_CONFIG" "$@"
fi
# Off by default since 26.04; earlier servers don't know the flag.
if [ "$(printf '%s\n' 26.04 "$NVIDIA_TRITON_SERVER_VERSION" | sort --version-sort | head -n 1)" = 26.04 ]; then
    set -- --allow-client-shm=true "$@"
fi
# /dev/shm outlives this container: a server that was killed left the regions of its Python models there.
rm -f /dev/shm/plate-models-*
# Triton lets every user of this /dev/shm read those regions, whatever the umask: take that back as they appear.
(while sleep 1 && kill -0 $$; do chmod -f 600 /dev/shm/plate-models-* || :; done) </dev/null >/dev/null 2>&1 &
# Regions start at 1 MB and grow by 1 MB; a photo takes 6 MB and more, and the next comes while a model holds one.
exec tritonserver --model-repository=/models --disable-auto-complete-config \
    --backend-config=python,shm-region-prefix-name=plate-models- \
    --backend-config=python,shm-default-byte-size=16777216 \
    --backend-config=python,shm-growth-byte-size=16777216 \
    "$@"
