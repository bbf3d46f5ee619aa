// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/export/ipfix"
)

// defaultPace is the rate in bit/s by which a file is exported over UDP: 1000 messages of 1280
// octets a second. The socket of a collector holds about 90 of them by default
// (net.core.rmem_default), so that it may be without a CPU for 90 ms.
const defaultPace = 10_000_000

// socketDrops returns how many datagrams the sockets of this machine that listen at an address
// have dropped since they were opened, since their buffers were full; ok is false where none
// listens. It reads them as the kernel lists them for the network namespace of this thread.
func socketDrops(address string) (drops uint64, ok bool) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, false
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	at, err := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil { // another name is that of another machine
		return 0, false
	}
	for _, name := range []string{"/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"} {
		list, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		n, found := dropsIn(string(list), at)
		drops, ok = drops+n, ok || found
	}
	return drops, ok
}

// dropsIn is socketDrops for one of the lists.
func dropsIn(list string, at netip.AddrPort) (drops uint64, found bool) {
	const local, dropped = 1, 12 // columns
	listens := map[string]bool{}
	for _, a := range []netip.Addr{at.Addr().Unmap(), netip.AddrFrom16(at.Addr().As16()), netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		listens[kernelAddress(netip.AddrPortFrom(a, at.Port()))] = true
	}
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) <= dropped || !listens[fields[local]] {
			continue
		}
		if n, err := strconv.ParseUint(fields[dropped], 10, 64); err == nil {
			drops, found = drops+n, true
		}
	}
	return drops, found
}

// kernelAddress returns an address as the kernel lists it: words in the machine's byte order.
func kernelAddress(a netip.AddrPort) string {
	var b strings.Builder
	for words := a.Addr().AsSlice(); len(words) > 0; words = words[4:] {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(words))
	}
	fmt.Fprintf(&b, ":%04X", a.Port())
	return b.String()
}

// losses watches the sockets of collectors on this machine while records are sent.
type losses struct {
	addresses []string
	before    []uint64
}

// watchLosses begins to watch the sockets at addresses.
func watchLosses(addresses []string) losses {
	l := losses{addresses, make([]uint64, len(addresses))}
	for i, a := range addresses {
		l.before[i], _ = socketDrops(a)
	}
	return l
}

// of returns the error about datagrams that collector i lost, and else a note about what is
// known; both are empty over streams, which lose nothing.
func (l *losses) of(i int, to *ipfix.Stats) (note string, err error) {
	if to.Transport != ipfix.UDP && to.Transport != ipfix.DTLS {
		return "", nil
	}
	now, here := socketDrops(l.addresses[i])
	switch {
	case here && now > l.before[i]:
		return "", fmt.Errorf("%s (%s): the collector's socket dropped %s, since its buffer was full: give a lower --pace, a larger buffer, or --transport tcp", to.Name, to.Transport, kit.Plural(int(now-l.before[i]), "datagram"))
	case here:
		return "; the collector's socket dropped none", nil
	}
	return "; " + to.Transport.String() + " reports no losses: compare with the collector's count", nil
}
