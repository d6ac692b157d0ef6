# Builds two images: a stripped server, and its debug file. The context is the directory of a Swift package; from this repository:
#
#   docker build -t shop --build-arg PRODUCT=DemoServer -f packaging/container/server.Dockerfile .
#   docker build -t shop-debug --target debug --build-arg PRODUCT=DemoServer -f packaging/container/server.Dockerfile .
#
# The image `shop` has the stripped server. The image `shop-debug` has its debug file by build id, and copies it into
# the volume that is mounted at /usr/lib/debug, where crashd looks for debug files.
ARG SWIFT=swift:6.3-bookworm
ARG BASE=debian:bookworm-slim

FROM ${SWIFT} AS build
ARG PRODUCT
WORKDIR /src
COPY . .
RUN swift build -c release --static-swift-stdlib --product "$PRODUCT" \
    && cp "$(swift build -c release --static-swift-stdlib --show-bin-path)/$PRODUCT" /server
RUN readelf --notes /server >/notes \
    && id=$(sed -n 's/^ *Build ID: //p' /notes) \
    && directory=/debug/.build-id/$(printf %.2s "$id") \
    && mkdir -p "$directory" \
    && objcopy --only-keep-debug --compress-debug-sections=zlib /server "$directory/${id#??}.debug" \
    && strip --strip-unneeded /server

FROM ${BASE} AS debug
COPY --from=build /debug /debug
CMD ["cp", "-r", "/debug/.build-id", "/usr/lib/debug/"]

FROM ${BASE} AS server
COPY --from=build /server /usr/local/bin/server
# Swift's own backtracer delays the end of a crashed process by seconds.
ENV SWIFT_BACKTRACE=enable=no
USER 10001:10001
CMD ["server"]
