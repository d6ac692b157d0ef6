# Replaces the image swift:6.3-bookworm, because the test uses no registry. The build mounts the machine's toolchain at
# /opt/swift. CRASHSHIELD_CORE limits the package to the targets that need no other package.
ARG BASE
FROM ${BASE}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends binutils ca-certificates git libc6-dev libcurl4 libedit2 libgcc-12-dev \
        libncurses6 libpython3.11 libsqlite3-0 libstdc++-12-dev libxml2 libz3-4 tzdata zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
ENV PATH=/opt/swift/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CRASHSHIELD_CORE=1
