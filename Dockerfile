# ringcached in a small image: docker build -t ringcached .   (docs/containers.md: how to run it)
FROM debian:trixie-slim AS build
WORKDIR /ringcached
# The packages first, in a layer that a change of the sources does not touch.
COPY dev ./
RUN ./dev setup build && rm -rf /var/lib/apt/lists/*
COPY . ./
RUN cmake --preset release -DRINGCACHED_BUILD_TESTS=OFF \
 && cmake --build --preset release --target ringcached \
 && strip build/release/ringcached

FROM debian:trixie-slim
LABEL org.opencontainers.image.title="ringcached" \
      org.opencontainers.image.description="memcached-compatible cache server on io_uring" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      libfmt10 libspdlog1.15 liburing2 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log \
 && groupadd --system --gid 11211 ringcached \
 && useradd --system --uid 11211 --gid 11211 --home-dir /nonexistent --no-create-home \
      --shell /usr/sbin/nologin ringcached
COPY --from=build /ringcached/build/release/ringcached /usr/local/bin/
# It starts here as it will there: no library is missing.
RUN ["ringcached", "--version"]
# By number, so that Kubernetes can tell that this is not root.
USER 11211:11211
EXPOSE 11211
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["ringcached", "--healthcheck"]
ENTRYPOINT ["ringcached"]
