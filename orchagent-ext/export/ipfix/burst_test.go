// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestBurstsAreTheSameMessages: the kernel cuts bursts into the datagrams that are sent one by one elsewhere,
// and each record is in one of them.
func TestBurstsAreTheSameMessages(t *testing.T) {
	records := make([]Record, 1000)
	for i := range records { // messages of several lengths
		records[i] = Record{DestQP: uint32(i), Octets: 1 << 40, Packets: 1, Start: 1, End: 2}
		if i/50%2 == 1 {
			records[i].Src = netip.MustParseAddr("192.0.2.1").As16()
			records[i].Dst = netip.MustParseAddr("192.0.2.2").As16()
		}
	}
	var sent [2][][]byte
	for i, off := range []bool{false, true} {
		to, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		if err := to.SetReadBuffer(1 << 20); err != nil {
			t.Fatal(err)
		}
		conn, err := net.DialUDP("udp", nil, to.LocalAddr().(*net.UDPAddr))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		c := &Config{Queue: len(records), RefreshMessages: 1 << 30, Refresh: time.Hour}
		c.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
		if err := c.Process.complete(); err != nil {
			t.Fatal(err)
		}
		l := &link{collector: newCollector(Collector{}, c), s: newSession(&c.Process, 1232), out: output{conn: conn}, refresh: time.Now().Add(time.Hour), messagesLeft: 1 << 30}
		l.out.burst.off = off
		l.queue.offer(records)
		for waiting, n, _ := l.queue.peek(); n > 0; waiting, n, _ = l.queue.peek() {
			if err := l.sendAll(waiting); err != nil {
				t.Fatal(err)
			}
		}
		if n, _ := l.queue.status(); n != 0 || l.records.Load() != uint64(len(records)) || l.out.burst.off != off {
			t.Errorf("%d records wait, %d were sent; one message a call: %v", n, l.records.Load(), l.out.burst.off)
		}
		for range l.messages.Load() {
			b := make([]byte, 2000)
			if err := to.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			n, err := to.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			sent[i] = append(sent[i], b[:n])
		}
	}
	if diff := cmp.Diff(sent[1], sent[0]); diff != "" {
		t.Errorf("one by one, less bursts:\n%s", diff)
	}
}
