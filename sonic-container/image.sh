#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the image of the container from what `make build` has put into bin/.
#
#   image.sh [BASE]
#
# BASE is the image that it is built on, such as SONiC's docker-config-engine-bookworm;
# without one it is a small Debian, made once by debian-root.sh. The image's name is
# docker-sluice, its tags are latest and the version in manifest.json.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../bin
work=$here/../build/image
debian=sluice-debian:bookworm-ip
name=docker-sluice

version=$(sed -n '/"package"/,/"name"/s/.*"version": "\(.*\)".*/\1/p' "$here/manifest.json")
docker version >/dev/null 2>&1 || {
	echo "image.sh: no Docker daemon answers: start one, or set DOCKER_HOST" >&2
	exit 1
}

base=${1:-$debian}
if [ "$base" = $debian ] && ! docker image inspect $debian >/dev/null 2>&1; then
	echo "image.sh: making $debian"
	mkdir -p "$work"
	"$here/debian-root.sh" "$work/debian.tar"
	docker import "$work/debian.tar" $debian >/dev/null
	rm "$work/debian.tar"
fi

# What comes on top of the base.
root=$work/context/root
rm -rf "$work/context"
mkdir -p "$root"/usr/bin "$root"/usr/lib/sluice "$root"/etc/supervisor/conf.d
install -s -m 755 "$bin/sluiced" "$bin/sluice" "$bin/sluice-gnmi" "$root/usr/bin"
install -s -m 644 "$bin/libsoftsai.so" "$root/usr/lib"
install -m 755 "$here/start.sh" "$here/health.sh" "$root/usr/bin"
install -m 644 "$here/environment.sh" "$root/usr/bin"
install -m 644 "$here/supervisord.conf" "$root/etc/supervisor/conf.d"
install -m 644 "$here/critical_processes" "$root/etc/supervisor"
for command in show config clear; do
	install -D -m 644 "$here/cli/sluice.py" "$root/cli/$command/plugins/sluice.py"
done

# The libraries that libsoftsai.so needs besides libc, with their licenses.
ldd "$bin/libsoftsai.so" | awk '$2 == "=>" && $1 !~ /^libc\.so/ { print $1, $3 }' | while read -r soname path; do
	install -m 644 "$path" "$root/usr/lib/sluice/$soname"
	package=$(dpkg-query -S "*/$soname" | sed "s/:.*//;q")
	install -D -m 644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
done

cp "$here/Dockerfile" "$work/context"
labels=()
while IFS= read -r -d '' label; do
	labels+=(--label "$label")
done < <("$here/labels.sh")
docker build --quiet --build-arg "BASE=$base" "${labels[@]}" -t "$name:$version" -t "$name:latest" "$work/context"
docker image inspect "$name:$version" --format '{{.RepoTags}} {{.Size}}' |
	awk '{ printf "%s, %.1f MB\n", substr($0, 1, length($0) - length($NF) - 1), $NF / 1e6 }'
