#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the certificates of the lab's gNMI servers and of one client, by a CA of the lab's
# own, in FOLDER: ca.pem, server.pem, server.key, me.pem, me.key. Those that are there stay.
#
#   tls.sh FOLDER
set -eu
[ $# = 1 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
[ ! -e "$1/me.pem" ] || exit 0
topology=$(cd "$(dirname "$0")" && pwd)/sluice.clab.yml
mkdir -p "$1"
cd "$1"

curve='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
# shellcheck disable=SC2086 # words
openssl req -x509 $curve -days 30 -subj '/CN=CA of the lab' -keyout ca.key -out ca.pem 2>/dev/null
sed -n 's/^ *mgmt-ipv4: */IP:/p' "$topology" | paste -s -d , | sed 's/^/subjectAltName=/' >names
for who in server me; do
	# shellcheck disable=SC2086 # words
	openssl req $curve -subj "/CN=$who" -keyout $who.key -out $who.csr 2>/dev/null
	openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile names -out $who.pem 2>/dev/null
done
