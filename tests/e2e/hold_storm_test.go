// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"sluice/orchagent-ext/wire/notify"
	"sluice/tests/fabrictest"
)

// TestSpoofStorm: 100,000 messages a second that are not to be obeyed are counted, each
// under its reason, and keep no genuine one from being obeyed. What they cost is logged: it
// depends on what else the machine does.
func TestSpoofStorm(t *testing.T) {
	soakOnly(t)
	perMessage := spoofStorm(t)
	t.Logf("%v of CPU a message, %.0f %% of a core at 100,000 a second", perMessage, stormPercent(perMessage))
}

// BenchmarkSpoofStorm is what sluiced takes of a core, and how late genuine messages are
// obeyed meanwhile.
func BenchmarkSpoofStorm(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(stormPercent(spoofStorm(b)), "cpu-percent")
	}
}

func stormPercent(perMessage time.Duration) float64 { return perMessage.Seconds() * 100_000 * 100 }

// spoofStorm returns the CPU time that a message takes.
func spoofStorm(t testing.TB) time.Duration {
	t.Helper()
	l := holding(t, []string{"hold_limit_ms", "0"})
	up := l.Uplinks[0]
	const checksumAt = 14 + 43
	sum := l.pfcm(up, nil)
	sum[checksumAt] ^= 1
	spoofs := []struct {
		reason string
		frame  []byte
	}{
		{"hop_limit", l.pfcm(up, func(e *notify.Envelope, _ *notify.PFCM) { e.HopLimit = 64 })},
		{"sender", l.pfcm(up, func(e *notify.Envelope, _ *notify.PFCM) { e.Src = netip.MustParseAddr("fe80::bad") })},
		{"source", l.pfcm(up, func(e *notify.Envelope, _ *notify.PFCM) { e.Src = netip.MustParseAddr("2001:db8::bad") })},
		{"checksum", sum},
	}
	const (
		perMs   = 100
		ms      = 3000
		genuine = 300
	)
	s := l.sender(up.Peer())
	// What is active obeys: the neighbor is known.
	l.obeys(s, up)
	l.quiet()
	early, heldEarly := map[string]uint64{}, l.notified("pfcm", "held") // before it was, and since
	for _, spoof := range spoofs {
		early[spoof.reason] = l.notified("pfcm", "dropped_"+spoof.reason)
	}
	before, lostBefore, begin := usageOf(t, l.sluiced.Pid), fabrictest.NeverArrived(t), time.Now()
	lost := func() uint64 { return fabrictest.NeverArrived(t) - lostBefore }
	for i := range ms {
		for time.Since(begin) < time.Duration(i)*time.Millisecond { // a sleep would be too long
		}
		for k := range perMs {
			l.put(s, spoofs[k%len(spoofs)].frame)
		}
		if i%(ms/genuine) == 0 {
			stream := uint16(1000 + i)
			l.put(s, l.pfcm(up, func(_ *notify.Envelope, m *notify.PFCM) { m.StreamID, m.Time = stream, pauseLasts }))
		}
	}
	took := time.Since(begin)
	const each = uint64(ms * perMs / 4)
	counted := func() (sum uint64) {
		for _, spoof := range spoofs {
			sum += l.notified("pfcm", "dropped_"+spoof.reason) - early[spoof.reason]
		}
		return sum + l.notified("pfcm", "dropped_full")
	}
	l.until("all are counted", func() bool { return counted()+lost() >= 4*each })
	cpu := usageOf(t, l.sluiced.Pid).cpu - before.cpu
	perMessage := cpu / (ms * perMs)
	t.Logf("%.0f messages a second; %v of CPU; full %d", float64(ms*perMs)/took.Seconds(), cpu, l.notified("pfcm", "dropped_full"))
	t.Logf("enforce_us: n %s, p50 %s, p99 %s, max %s", l.notifiedText("pfcm", "enforce_us_n"), l.notifiedText("pfcm", "enforce_us_p50"),
		l.notifiedText("pfcm", "enforce_us_p99"), l.notifiedText("pfcm", "enforce_us_max"))
	if b, ok := t.(*testing.B); ok {
		for _, q := range []string{"p50", "p99"} {
			us, err := strconv.ParseFloat(l.notifiedText("pfcm", "enforce_us_"+q), 64)
			if err != nil {
				t.Fatal(err)
			}
			b.ReportMetric(us, "us-"+q)
		}
	}
	if held, full := l.notified("pfcm", "held")-heldEarly, l.notified("pfcm", "dropped_full"); held+full+lost() < genuine {
		t.Errorf("%d of %d genuine messages were obeyed, %d found no room, %d never arrived", held, genuine, full, lost())
	}
	for _, spoof := range spoofs {
		if n := l.notified("pfcm", "dropped_"+spoof.reason) - early[spoof.reason]; n > each {
			t.Errorf("%s: %d counted, %d sent", spoof.reason, n, each)
		}
	}
	l.quiet()
	return perMessage
}
