# A server without a daemon beside it: `crashctl run` starts the server, and prints the report of a crash to standard
# error. CRASHD is the image of crashd.Dockerfile. SERVER and DEBUG are the images of server.Dockerfile:
#
#   docker build -t shop-alone -f packaging/container/alone.Dockerfile packaging/container
ARG CRASHD=crashd
ARG SERVER=shop
ARG DEBUG=shop-debug
FROM ${SERVER} AS server
FROM ${DEBUG} AS debug

FROM ${CRASHD}
COPY --from=server /usr/local/bin/server /usr/local/bin/server
COPY --from=debug /debug /usr/lib/debug
ENV SWIFT_BACKTRACE=enable=no
ENTRYPOINT ["crashctl", "run", "--"]
CMD ["server"]
