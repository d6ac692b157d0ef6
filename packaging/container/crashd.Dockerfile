# crashd with crashctl, crash-forward and libcrashshield.so. The build context is the directory with the packages of
# `make deb`:
#
#   docker build -t crashd -f packaging/container/crashd.Dockerfile .build-deb
#
# The Dockerfile unpacks the packages and does not install them, because they depend on systemd.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS unpacked
COPY swift-crash-shield_*.deb libcrashshield_*.deb /packages/
RUN for package in /packages/*.deb; do dpkg-deb --extract "$package" /unpacked || exit 1; done

FROM ${BASE}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates libcurl4 libdw1 libsqlite3-0 libstdc++6 libunwind8 tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 crashshield \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/crashd --shell /usr/sbin/nologin crashshield \
    && install -d -o 10001 -g 10001 /run/crashd \
    && install -d -o 10001 -g 10001 -m 700 /var/lib/crashd
COPY --from=unpacked /unpacked/usr/bin /usr/bin
COPY --from=unpacked /unpacked/usr/libexec /usr/libexec
COPY --from=unpacked /unpacked/usr/lib/libcrashshield.so /usr/lib/libcrashshield.so
COPY --from=unpacked /unpacked/usr/share/doc/swift-crash-shield/copyright /usr/share/doc/swift-crash-shield/copyright
# crashd and crashctl find directories, settings and socket by these variables, as under systemd.
ENV RUNTIME_DIRECTORY=/run/crashd \
    STATE_DIRECTORY=/var/lib/crashd \
    CONFIGURATION_DIRECTORY=/etc/crashd \
    CRASHD_SOCKET=/run/crashd/io.crashshield.Crashd
USER 10001:10001
CMD ["crashd"]
