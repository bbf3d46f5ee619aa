#!/bin/sh
# The demo of `make demo`: real RDMA packets in, flow labels and balance out.
# Needs no rights and no network; everything it writes is under build/demo.
set -eu
cd "$(dirname "$0")/.."
out=build/demo
mkdir -p "$out"

say() { printf '\n== %s\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

say "Whose packets are these? A real connection: RDMA-CM, write, read"
run bin/sluice decode tests/captures/cm-rc-write-read-ipv4.pcap

say "The same by flow: both queue pairs learned from the CM exchange"
run bin/sluice decode --flows tests/captures/cm-rc-write-read-ipv4.pcap

say "A capture without CM: learned from the acknowledgements"
run bin/sluice decode --flows tests/captures/rc-send-ipv4.pcap

say "The same packets over IPv6, and with their flow labels"
run bin/sluice lift6 tests/captures/rc-send-ipv4.pcap "$out/rc-send-ipv6.pcap"
run bin/sluice relabel "$out/rc-send-ipv6.pcap" "$out/rc-send-labelled.pcap"
run bin/sluice decode --flows "$out/rc-send-labelled.pcap"

say "64 queue pairs of one host pair on 8 paths: without and with the label"
run bin/sluice gen "$out/sessions.pcap" --pairs 1 --qps 64 --packets 6400
run bin/sluice balance "$out/sessions.pcap" --paths 8 --svg "$out/balance.svg"
printf '\nThe picture: %s/balance.svg\n' "$out"
