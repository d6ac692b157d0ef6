# crash-fleet, the service that stores the crashes of many machines. The build context is the directory with the
# packages of `make deb-fleet`:
#
#   docker build -t crash-fleet -f packaging/container/fleet.Dockerfile .build-deb
#
# The Dockerfile unpacks the package and does not install it, because it depends on systemd.
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
# The service listens on all addresses, because in a container no other machine reaches loopback, the default. The
# variable overrides /etc/crash-fleet/crash-fleet.yaml.
ENV CRASH_FLEET_LISTEN_HOST=::
USER 10002:10002
EXPOSE 8320
CMD ["crash-fleet", "serve"]
