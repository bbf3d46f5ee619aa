#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command with a Docker daemon: the one that answers, else one of its own, as
# root, which ends with the command and keeps its images in build/docker. DOCKERD_OPTIONS are more
# options of that daemon.
#
#   with-docker.sh COMMAND [ARGUMENT]
set -eu
! docker version >/dev/null 2>&1 || exec "$@"

images=$(cd "$(dirname "$0")/.." && pwd)/build/docker
work=$(mktemp -d)
mkdir -p "$images"
# shellcheck disable=SC2086 # they are words
dockerd ${DOCKERD_OPTIONS-} --iptables=false --ip6tables=false --bridge=none --data-root "$images" --exec-root "$work/exec" \
	--pidfile "$work/pid" --host "unix://$work/docker.sock" >"$work/log" 2>&1 &
daemon=$!
trap 'kill $daemon 2>/dev/null || :; wait $daemon || :; umount "$work/exec/netns/default" 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export DOCKER_HOST="unix://$work/docker.sock"
until docker version >/dev/null 2>&1; do
	if ! kill -0 $daemon 2>/dev/null; then
		echo "with-docker.sh: dockerd ended:" >&2
		tail -n 5 "$work/log" >&2
		exit 1
	fi
	sleep 0.1
done
"$@"
