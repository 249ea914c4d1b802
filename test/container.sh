#!/bin/sh
# container.sh: builds the image and tries it as a user would, with podman.
#
#   test/container.sh           starts it under deploy/seccomp.json (with a Unix socket and a pid
#                               file, then with everything taken away that can be), waits for its
#                               health, runs memcaslap against it, stops it, looks at its exit
#   test/container.sh --trace   the same under strace and without that profile, then prints the
#                               system calls that the profile lacks, and those it has for nothing
#
# Not part of ./dev test: it needs root or a working rootless podman, and takes minutes. It says
# "skipped" where podman, memcaslap or the base image cannot be had. Podman's own settings are the
# user's: CONTAINERS_CONF and the like are taken as they are. RINGCACHED_TEST_PORT is the port.
set -eu
cd "$(dirname "$0")/.."

image=localhost/ringcached:test
base=docker.io/library/debian:trixie-slim
name=ringcached-test-$$
port=${RINGCACHED_TEST_PORT:-21250}
room=$(mktemp -d)
profile=$PWD/deploy/seccomp.json
runtime=

say() { echo "container: $*"; }
skip() { say "skipped: $*"; exit 0; }
die() { say "FAILED: $*"; exit 1; }

# shellcheck disable=SC2317 # Called by the trap.
clean_up() {
  podman rm -f -t 0 "$name" >/dev/null 2>&1 || true
  rm -rf "$room"
}
trap clean_up EXIT

need() {
  command -v podman >/dev/null || skip 'no podman (apt-get install podman)'
  command -v memcaslap >/dev/null || skip 'no memcaslap (apt-get install libmemcached-tools)'
  podman image exists "$base" || podman pull -q "$base" >/dev/null 2>&1 ||
    skip "no image $base: neither here nor to be pulled (one made by mmdebstrap will do)"
}

build() {
  say 'building the image'
  podman build --format docker -t "$image" . >"$room/build.log" 2>&1 || {
    tail -n 20 "$room/build.log"
    die 'the image does not build'
  }
  bytes=$(($(podman image inspect --format '{{.Size}}' "$image") -
    $(podman image inspect --format '{{.Size}}' "$base")))
  say "the image is $((bytes / 1000000)) MB larger than its base"
  [ "$bytes" -lt 100000000 ] || die 'more than 100 MB beyond the base'
}

# In a trace, podman's runtime is this script around the real one. The tracer is a process apart,
# since the runtime must end when it has started the container.
trace_runtime() {
  command -v strace >/dev/null || skip 'no strace (apt-get install strace)'
  mkdir "$room/trace"
  runtime="--runtime $room/runc"
  cat >"$room/runc" <<END
#!/bin/sh
exec strace -DDD -f -qq --pidns-translation -o "$room/trace/\$\$" \
  "$(podman info --format '{{.Host.OCIRuntime.Path}}')" "\$@"
END
  chmod +x "$room/runc"
  # All is allowed, but by a filter: its loading marks where the profile would begin to count.
  profile=$room/open.json
  echo '{"defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{"names": ["kexec_load"], "action": "SCMP_ACT_ERRNO"}]}' >"$profile"
}

# start FLAG...: the flags are podman's; the server's are in the environment, so that its health
# check knows the port as well.
start() {
  # shellcheck disable=SC2086 # Two words or none.
  podman $runtime run -d --name "$name" --network host "$@" \
    -e RINGCACHED_LISTEN=127.0.0.1 -e RINGCACHED_PORT="$port" "$image" >"$room/run.log" 2>&1 || {
    cat "$room/run.log"
    die 'the container does not start'
  }
}

wait_for_health() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    # shellcheck disable=SC2086 # Two words or none.
    if podman $runtime healthcheck run "$name" >/dev/null 2>&1; then return; fi
    sleep 1
  done
  podman logs "$name"
  die 'not healthy within 10 s'
}

load() {
  timeout 120 memcaslap -s "127.0.0.1:$port" -x 50000 -T 2 -c 50 >"$room/load.log" 2>&1 || {
    cat "$room/load.log"
    die 'memcaslap failed'
  }
  grep -qx 'get_misses: 0' "$room/load.log" || die 'memcaslap counts misses'
  say "$(tail -n 1 "$room/load.log")"
  memcstat --servers="127.0.0.1:$port" | grep -q uptime || die 'no answer to stats'
}

stop() {
  begun=$(date +%s)
  # shellcheck disable=SC2086 # Two words or none.
  podman $runtime stop -t 10 "$name" >/dev/null 2>&1
  took=$(($(date +%s) - begun))
  code=$(podman inspect --format '{{.State.ExitCode}}' "$name")
  podman logs "$name" 2>&1 | sed 's/^/  /'
  podman rm "$name" >/dev/null 2>&1
  [ "$code" = 0 ] || die "SIGTERM ends it with exit code $code"
  [ "$took" -le 5 ] || die "SIGTERM ends it after $took s, more than 5"
}

# try WHAT FLAG...
try() {
  say "$1"
  shift
  start --security-opt "seccomp=$profile" "$@"
  wait_for_health
  load
  stop
}

# What the engine's own profile blocks, the server names: in its log, whether it ends or goes on.
try_without_profile() {
  say "under the engine's own profile"
  start
  sleep 3
  podman logs "$name" >"$room/log" 2>&1
  sed 's/^/  /' "$room/log"
  podman rm -f -t 1 "$name" >/dev/null 2>&1
  grep -q seccomp "$room/log" || die 'the server does not name seccomp as what blocks io_uring'
}

compare() {
  awk -f test/container/syscalls.awk "$room"/trace/* | sort -u >"$room/seen"
  tr -d ' \n' <"$profile_of_ours" | grep -oE '"names":\[[^]]*\]' | grep -oE '"[a-z0-9_]+"[],]' |
    tr -d '",]' | sort -u >"$room/allowed"
  say "seen: $(wc -l <"$room/seen") system calls, allowed: $(wc -l <"$room/allowed")"
  say "allowed and not seen: $(comm -13 "$room/seen" "$room/allowed" | tr '\n' ' ')"
  lacking=$(comm -23 "$room/seen" "$room/allowed" | tr '\n' ' ')
  [ -z "$lacking" ] || die "seen and not in deploy/seccomp.json: $lacking"
}

profile_of_ours=$profile
need
build
[ "${1:-}" != --trace ] || trace_runtime
try 'with a Unix socket and a pid file beside the port' \
  -e RINGCACHED_UNIX_SOCKET=/tmp/ringcached.socket -e RINGCACHED_PIDFILE=/tmp/ringcached.pid
try 'with nothing but what it needs' --cap-drop ALL --security-opt no-new-privileges --read-only
if [ "${1:-}" = --trace ]; then compare; else try_without_profile; fi
say 'passed'
