#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the image of the tool from what `make tool` has put into bin/, with sample captures, and
# writes it into build/docker-sluice-tool.tar.gz, which docker load takes. Its name is sluice-tool, its
# tags are latest and the version.
#
#   tool-image.sh
set -eu -o pipefail
cd "$(dirname "$0")/.."
version=$(cat VERSION)
docker version >/dev/null 2>&1 || {
	echo "tool-image.sh: no Docker daemon answers: start one, or set DOCKER_HOST" >&2
	exit 1
}
work=build/tool-image
rm -rf $work
mkdir -p $work/root/captures $work/root/usr/share/doc/sluice
install -D -s -m 755 -t $work/root/usr/bin bin/sluice
install -m 644 tests/captures/*.pcap tests/captures/*.pcapng tests/captures/README.md $work/root/captures
install -m 644 LICENSE $work/root/usr/share/doc/sluice
release/licenses.sh bin/sluice >$work/root/usr/share/doc/sluice/modules
cp sonic-container/Dockerfile.tool $work/Dockerfile
docker build --quiet -t "sluice-tool:$version" -t sluice-tool:latest $work
docker save "sluice-tool:$version" sluice-tool:latest | gzip -n >build/docker-sluice-tool.tar.gz
ls -lh build/docker-sluice-tool.tar.gz
