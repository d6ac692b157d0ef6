# crash-fleet, the service that stores the crashes of many machines. The context is the directory of the packages of
# `make deb-fleet`:
#
#   docker build -t crash-fleet -f packaging/container/fleet.Dockerfile .build-deb
#
# The files are unpacked and the package is not installed, because it depends on systemd.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS unpacked
COPY swift-crash-shield-fleet_*.deb /packages/
RUN dpkg-deb --extract /packages/*.deb /unpacked

FROM ${BASE}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libpq5 libstdc++6 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10002 crashfleet \
    && useradd --uid 10002 --gid 10002 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin crashfleet
COPY --from=unpacked /unpacked/usr/bin/crash-fleet /usr/bin/crash-fleet
COPY --from=unpacked /unpacked/usr/share/doc/swift-crash-shield-fleet/copyright /usr/share/doc/swift-crash-shield-fleet/copyright
# The environment overrides the settings in /etc/crash-fleet/crash-fleet.yaml. In a container, loopback is of no use.
ENV CRASH_FLEET_LISTEN_HOST=::
USER 10002:10002
EXPOSE 8320
CMD ["crash-fleet", "serve"]
