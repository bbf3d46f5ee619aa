// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/wire/notify"
)

// TestTextsOfRows: values worked out by hand, at the ends of their ranges and around what is rounded.
func TestTextsOfRows(t *testing.T) {
	at := func(ns int64) time.Time { return time.Unix(0, ns) }
	const start = 1_700_000_000_000_000_000
	for _, tt := range []struct {
		what, got, want string
	}{
		{"the first packet", secondsAfter(at(start), at(start)), "0.000000"},
		{"499 ns", secondsAfter(at(start), at(start+499)), "0.000000"},
		{"500 ns", secondsAfter(at(start), at(start+500)), "0.000001"},
		{"27.9045 ms", secondsAfter(at(start), at(start+27_904_500)), "0.027905"},
		{"a second less 1 ns", secondsAfter(at(start), at(start+999_999_999)), "1.000000"},
		{"69.985 s before", secondsAfter(at(start), at(start-69_985_000_000)), "-69.985000"},
		{"from the first time to the last", secondsAfter(at(math.MinInt64+1), at(math.MaxInt64)), "18446744073.709552"},
		{"from the last time to the first", secondsAfter(at(math.MaxInt64), at(math.MinInt64+1)), "-18446744073.709552"},
		{"no time", secondsAfter(at(start), time.Time{}), "-"},
		{"no start", secondsAfter(time.Time{}, at(start)), "-"},
		{"queue pair 0", qpText(0), "0x000000"},
		{"queue pair 1", qpText(1), "0x000001"},
		{"queue pair 0x0fffff", qpText(0x0fffff), "0x0fffff"},
		{"queue pair 0xffffff", qpText(0xffffff), "0xffffff"},
		{"label 0x10000", labelText(netip.IPv6Loopback(), 0x10000), "0x10000"},
		{"label 0x0000f", labelText(netip.IPv6Loopback(), 0xf), "0x0000f"},
		{"label of IPv4", labelText(netip.AddrFrom4([4]byte{10, 0, 0, 1}), 1), "-"},
		{"label of IPv4 in IPv6", labelText(netip.MustParseAddr("::ffff:10.0.0.1"), 1), "-"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, tt.got, tt.want)
		}
	}
}

// TestHostsAreBounded: addresses beyond the bound have their texts, too, and take no more memory.
func TestHostsAreBounded(t *testing.T) {
	h := hosts{}
	for range 2 {
		for i := range 3 * mostHosts {
			a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
			if got := h.text(a); got != a.String() {
				t.Fatalf("%v is %s", a, got)
			}
		}
	}
	if len(h) > mostHosts {
		t.Errorf("%d addresses are kept, want %d at most", len(h), mostHosts)
	}
}

// TestTextsOfARowAreFree: a row of a capture takes no memory, and its texts are right in a table that has the
// rows after it.
func TestTextsOfARowAreFree(t *testing.T) {
	var text texts
	if n := testing.AllocsPerRun(100, func() { text.word("a").number(1).take() }); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
	var out strings.Builder
	rows := output.NewTable(&out, output.Style{}, "A", "B")
	for n := range uint64(600) { // more than are kept back
		rows.Row(text.word("row").number(n).take()...)
	}
	if err := rows.End(); err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
		if want := fmt.Sprintf("row  %d", n); line != want {
			t.Fatalf("line %d is %q, want %q", n, line, want)
		}
	}
}

// TestPacketThatIsNoNotificationIsFree: nearly all are such.
func TestPacketThatIsNoNotificationIsFree(t *testing.T) {
	var p notify.Packet
	if n := testing.AllocsPerRun(100, func() { newNotification(&p, notify.ErrNotNotification) }); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}
