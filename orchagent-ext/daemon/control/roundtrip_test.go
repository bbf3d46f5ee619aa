// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/hold/flowcontrol"
)

// Advice goes by the time to the farthest host that may be advised, measured where none is
// configured; one that is configured and far off is named.
func TestAdviceGoesByTheFarthestHost(t *testing.T) {
	now := time.Unix(1e9, 0)
	host := func(addr string, d time.Duration, from rtt.Source, age time.Duration) rtt.Host {
		return rtt.Host{Addr: netip.MustParseAddr(addr), Time: d, From: from, Samples: 9, At: now.Add(-age).UnixNano()}
	}
	near, far := host("10.0.0.1", 100*time.Microsecond, rtt.Answer, 0), host("10.0.0.2", 5*time.Millisecond, rtt.Answer, 0)
	stranger := host("192.0.2.1", time.Second, rtt.Answer, 0)
	old := host("10.0.0.3", 90*time.Millisecond, rtt.Answer, rtt.Stale)
	one := host("10.0.0.4", 80*time.Millisecond, rtt.Answer, 0)
	one.Samples = 1
	reaction := host("10.0.0.2", 35*time.Millisecond, rtt.Advice, 0)
	silent := host("10.0.0.3", 30*time.Millisecond, rtt.Advice, 0)
	for name, tt := range map[string]struct {
		configured time.Duration
		packets    []rtt.Host
		reactions  []rtt.Host
		before     time.Duration
		inUse      time.Duration
		warned     string
	}{
		"nothing is known":               {inUse: 0},
		"the farthest, rounded up":       {packets: []rtt.Host{near, far, stranger, old, one}, inUse: 8192 * time.Microsecond},
		"answers rather than reactions":  {packets: []rtt.Host{far}, reactions: []rtt.Host{reaction}, inUse: 8192 * time.Microsecond},
		"reactions where answers ended":  {packets: []rtt.Host{old}, reactions: []rtt.Host{silent}, inUse: 32768 * time.Microsecond},
		"a bit less than before":         {packets: []rtt.Host{far}, before: 16384 * time.Microsecond, inUse: 16384 * time.Microsecond},
		"much less than before":          {packets: []rtt.Host{far}, before: 32768 * time.Microsecond, inUse: 8192 * time.Microsecond},
		"not measured any longer":        {before: 32768 * time.Microsecond, inUse: 32768 * time.Microsecond},
		"as configured":                  {configured: 10000 * time.Microsecond, packets: []rtt.Host{near, far}, inUse: 10 * time.Millisecond},
		"configured, and four times off": {configured: 20000 * time.Microsecond, packets: []rtt.Host{near, far}, inUse: 20 * time.Millisecond, warned: "10.0.0.2, is 5000 us away"},
		"configured, and a fourth":       {configured: 1250 * time.Microsecond, packets: []rtt.Host{far}, inUse: 1250 * time.Microsecond, warned: "10.0.0.2, is 5000 us away"},
	} {
		advice := &flowcontrol.Advice{Hosts: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
		advice.Pace.RTT = tt.configured
		for i := range tt.reactions { // of the task's clock
			tt.reactions[i].At -= now.UnixNano()
		}
		r := roundTrips{inUse: tt.before}
		r.update(advice, tt.packets, &flowcontrol.Report{Hosts: tt.reactions}, now)
		if w := r.warning(); r.inUse != tt.inUse || (tt.warned == "") != (w == "") || !strings.Contains(w, tt.warned) {
			t.Errorf("%s: %v, %q, want %v, %q", name, r.inUse, w, tt.inUse, tt.warned)
		}
	}
}
