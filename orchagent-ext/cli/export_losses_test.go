// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
)

func TestDropsAreThoseOfTheCollector(t *testing.T) {
	four, six := netip.MustParseAddrPort("127.0.0.1:4739"), netip.MustParseAddrPort("[2001:db8::1]:4739")
	line := func(address, drops string) string {
		return " 81: " + address + " 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 9 2 0000000000000000 " + drops + "\n"
	}
	list := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n" +
		line(kernelAddress(four), "7") + line(kernelAddress(netip.MustParseAddrPort("0.0.0.0:4739")), "1") +
		line(kernelAddress(netip.MustParseAddrPort("127.0.0.1:4740")), "100") + line(kernelAddress(netip.MustParseAddrPort("127.0.0.2:4739")), "1000")
	if got, found := dropsIn(list, four); got != 8 || !found {
		t.Errorf("%d, %v, want 8", got, found)
	}
	if got, found := dropsIn(list, netip.MustParseAddrPort("10.0.0.1:5000")); got != 0 || found {
		t.Errorf("%d, %v of a port without a socket", got, found)
	}
	if got, found := dropsIn(line(kernelAddress(six), "3"), six); got != 3 || !found {
		t.Errorf("%d, %v, want 3", got, found)
	}
}

// TestExportReportsLossesOfACollector: an unread socket is full after some messages.
func TestExportReportsLossesOfACollector(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the drops of sockets are those that Linux lists")
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := socket.SetReadBuffer(1 << 16); err != nil {
		t.Fatal(err)
	}
	address := socket.LocalAddr().String()
	_, errs := good(t, "export", captures+"rc-send-ipv4.pcap", "--collector", address)
	if !strings.Contains(errs, "the collector's socket dropped none") {
		t.Errorf("%s", errs)
	}
	args := []string{"export", captures + "rc-send-ipv4.pcap", "--mode", "packet", "--path-mtu", "512", "--collector", address}
	for range 10 { // 65 messages each
		var code int
		if _, errs, code = sluice(nil, args...); code != 0 {
			break
		}
	}
	if !strings.Contains(errs, "the collector's socket dropped ") || !strings.Contains(errs, "give a lower --pace") {
		t.Errorf("%s", errs)
	}
}
