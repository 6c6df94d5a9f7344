# The program with a shell and git. Mount the working folder and a home folder:
#
#     docker build -t codex .
#     docker run -i --rm -v "$PWD:/work" -w /work -v codex-home:/home/codex codex app-server
#
# The sandbox of commands needs user namespaces or Landlock in the container. `docker run … codex doctor` says what there is.
FROM rust:1.95-alpine AS build
RUN apk add --no-cache musl-dev gcc make
WORKDIR /source
COPY . .
RUN cargo build --release --locked -p codex-cli && cp target/release/codex /codex

FROM alpine:3.22
# Commands of the model need a shell; git gives the facts of a repository.
RUN apk add --no-cache bash git ca-certificates && adduser -D codex
COPY --from=build /codex /usr/local/bin/codex
COPY LICENSE /usr/share/licenses/codex/LICENSE
USER codex
ENTRYPOINT ["codex"]
