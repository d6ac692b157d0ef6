# A server without a daemon beside it: `crashctl run` starts the server, and prints the report of a crash to standard
# error. CRASHD and SERVER are images of crashd.Dockerfile and server.Dockerfile:
#
#   docker build -t shop-alone -f packaging/container/alone.Dockerfile packaging/container
ARG CRASHD=crashd
ARG SERVER=shop
FROM ${SERVER} AS server

FROM ${CRASHD}
COPY --from=server /usr/local/bin/server /usr/local/bin/server
ENV SWIFT_BACKTRACE=enable=no
ENTRYPOINT ["crashctl", "run", "--"]
CMD ["server"]
