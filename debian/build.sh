#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the Debian packages from what `make build` has put into bin/, or `make arm64` into
# bin/arm64/: FOLDER/sluice_VERSION_ARCH.deb and
# FOLDER/sluice-lab_VERSION_ARCH.deb. Equal input gives equal packages. Their
# maintainers are those of the project, unless DEBFULLNAME and DEBEMAIL name who builds them.
#
#   build.sh FOLDER [ARCH]
set -eu -o pipefail
umask 022
[ $# = 1 ] || [ $# = 2 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
here=$PWD/bin # programs that this machine runs
bin=$here strip=strip
version=$(cat VERSION)
arch=${2:-$(dpkg --print-architecture)}
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
	[ "$arch" = arm64 ] || { echo "build.sh: $arch: this machine's architecture and arm64 are possible" >&2; exit 2; }
	bin=$here/arm64 strip=aarch64-linux-gnu-strip
fi
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)
export SOURCE_DATE_EPOCH
maintainer="${DEBFULLNAME:-Sluice maintainers} <${DEBEMAIL:-maintainers@sluice-project.example}>"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# documents adds what a package says of itself: licenses of Go and of the modules that its
# programs contain, copyright, changelogs.
documents() { # PACKAGE PROGRAM...
	local package=$1 doc=$work/$1/usr/share/doc/$1
	shift
	mkdir -p "$doc"
	release/licenses.sh "${@/#/$bin/}" >"$doc/modules"
	install -m 644 debian/copyright CHANGELOG.md "$doc"
	cat >"$doc/changelog" <<END
$package ($version) unstable; urgency=medium

  * Version $version: see CHANGELOG.md.gz.

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
	gzip -9n "$doc"/{modules,CHANGELOG.md,changelog} "$work/$package"/usr/share/man/man?/*
}

# libc prints the release of libc that ELF files need.
libc() { # FILE...
	readelf -W --dyn-syms "$@" | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -n 1 | sed 's/GLIBC_//'
}

# seal makes the package. Standard input has its relations, section and description.
seal() { # PACKAGE
	local root=$work/$1
	mkdir -p "$root/DEBIAN"
	{
		cat <<END
Package: $1
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -k -s --apparent-size --exclude=DEBIAN "$root" | cut -f 1)
END
		cat
	} >"$root/DEBIAN/control"
	(cd "$root" && find . -path ./DEBIAN -prune -o -path ./etc -prune -o -type f -printf '%P\n' | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"
	dpkg-deb --build --root-owner-group -Zgzip -z6 "$root" "$out/$1_${version}_$arch.deb" >/dev/null
	echo "$out/$1_${version}_$arch.deb"
}

root=$work/sluice
UNITS=/lib/systemd/system release/install.sh /usr "$root" "$bin" "$strip"
documents sluice sluice sluiced sluice-gnmi
mkdir -p "$root/DEBIAN"
(cd "$root" && find etc -type f | sort | sed 's#^#/#') >"$root/DEBIAN/conffiles"
install -m 755 debian/postinst debian/prerm debian/postrm "$root/DEBIAN"
# What libsoftsai.so needs besides libc, and the libc that all need.
libraries=$(readelf -d "$bin/libsoftsai.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^libc\.so' | while read -r soname; do
	dpkg-query -S "*/$soname" | sed 's/:.*//;q'
done | sort -u | sed 's/$/, /' | tr -d '\n')
libc=$(libc "$root"/usr/bin/* "$root/usr/lib/sluice/libsoftsai.so")
[ -n "$libraries" ] && [ -n "$libc" ]
seal sluice <<END
Depends: ${libraries}libc6 (>= $libc), redis-server, adduser
Section: net
Priority: optional
Description: control of single RDMA (RoCEv2) flows
 Sluice gives a RoCEv2 fabric control of single RDMA flows. It spreads them
 over equal-cost paths by an IPv6 flow label computed from the queue pair,
 shows them by IPFIX, gNMI and Prometheus, holds a single flow that fills a
 queue, and advises senders of a rate.
 .
 The package has the daemon sluiced, the gNMI server sluice-gnmi, the tool
 sluice, and a SAI library that makes the Linux kernel the switch.
END

PART=lab release/install.sh /usr "$work/sluice-lab" "$bin" "$strip"
documents sluice-lab sluice-lab
seal sluice-lab <<END
Depends: sluice (= $version), iproute2
Section: net
Priority: optional
Description: laboratory for Sluice: demo, traffic, messages
 The tool sluice-lab runs the demo of Sluice in network namespaces, generates
 and verifies RDMA (RoCEv2) traffic, and sends notifications about congestion
 of any content. It is for test machines: no switch in operation needs it.
END
