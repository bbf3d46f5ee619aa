// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/tests/fabrictest"
)

// TestHoldBySource: a switch that holds no flow, as ASICs are, slows the sender of a flow that a
// neighbor asks it to hold: the CNPs arrive at the host, for the queue pair that sends, and end
// with the hold. Messages that it may not obey slow no host: forged ones, a storm of other flows, and
// one that is repeated for ever, behind the limit of a hold.
//
//conformance:draft-yang/enforce draft-yang/link-local draft-yang/copp
func TestHoldBySource(t *testing.T) {
	for _, driver := range []string{"sai", "orchagent"} {
		t.Run(driver, func(t *testing.T) {
			if driver == "sai" {
				l := newLeaf(t)
				asic := filepath.Join(t.TempDir(), "asic")
				fabrictest.Check(t, os.WriteFile(asic, []byte("samples=10000\n"), 0o600))
				l.set("SLUICE", "global", "router_id_v6", "2001:db8:ff::1")
				holdBySource(t, l, func() { l.start("--sai-profile", "SLUICE_ASIC="+asic) })
				return
			}
			l, _ := withOrchagent(t, "202305")
			samplePackets(t, l.LeafSpine, sampleSocket(l.memory), 4)
			l.set("SFLOW", "global", "admin_state", "up")
			l.set("SLUICE", "global", "driver", "orchagent", "router_id_v6", "2001:db8:ff::1")
			holdBySource(t, l, func() { l.sluiced = startSampled(t, l.Leaf, l.log, l.redis.Config, l.memory) })
		})
	}
}

// heldFor is hold_limit_ms of the tests of holds by the sender.
const heldFor = 200 * time.Millisecond

func holdBySource(t *testing.T, l *leaf, start func()) {
	t.Helper()
	l.neighbors("hold_limit_ms", fmt.Sprint(heldFor.Milliseconds()))
	l.set("SLUICE_PORT", l.LeafA.Name, "role", "edge")
	l.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Addr().String()+"/128")
	start()
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	l.awaitFields("SLUICE_CAPABILITY", "switch", "threshold_method", "none", "hold_method", "source", "hold_state", "active")
	c, err := l.A.Capture()
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	host, uplinks := l.sender(l.A), make([]*fabric.Sender, len(l.Uplinks))
	for i, p := range l.Uplinks {
		uplinks[i] = l.sender(p.Peer())
	}
	n := 0
	packets := func() {
		for range 32 {
			l.put(host, l.datagram(heldLabel, n))
			n++
		}
	}
	ask := func(change func(*notify.Envelope, *notify.PFCM)) {
		for i, p := range l.Uplinks {
			l.put(uplinks[i], l.pfcm(p, change))
		}
	}
	pause := func(_ *notify.Envelope, m *notify.PFCM) { m.Time = math.MaxUint16 }
	// The flow is known from the first of its samples on.
	for deadline := time.Now().Add(patience); l.notified("cnp", "sent") == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %d packets the host got no CNP: PFCM %s; CNP %s", n, l.notifiedAll("pfcm"), l.notifiedAll("cnp"))
		}
		packets()
		ask(pause)
	}
	cancel := func(_ *notify.Envelope, m *notify.PFCM) { m.Action, m.Time = notify.Cancel, 0 }
	ask(cancel)
	var cnps []fabric.Frame
	// arrive waits until the host has had no more CNPs for a while, and as many as were sent: the count of
	// these is a second old.
	arrive := func() {
		t.Helper()
		last := time.Now()
		l.until("every CNP arrives at the host, and no more", func() bool {
			now := notifications(slices.Clone(c.Frames()))
			if len(now) != len(cnps) {
				last = time.Now()
			}
			cnps = now
			return time.Since(last) > heldFor/2 && uint64(len(cnps)) == l.notified("cnp", "sent")
		})
	}
	arrive()
	for _, f := range cnps {
		var p notify.Packet
		if err := p.Parse(f.Data, notify.DefaultCodePoints()); err != nil || p.Kind != notify.KindCNP || p.CNP.DestQP != ownQP || p.Envelope.Dst != fabric.HostA.Addr() {
			t.Fatalf("the host got %v %+v: %v", p.Kind, p.CNP, err)
		}
	}
	t.Logf("%d packets, %d CNPs; PFCM to the first CNP: p50 %s us, p99 %s us, n %s", n, len(cnps),
		l.notifiedText("pfcm", "enforce_us_p50"), l.notifiedText("pfcm", "enforce_us_p99"), l.notifiedText("pfcm", "enforce_us_n"))

	// The flow goes on, and is known; these messages slow no host.
	before, received := len(cnps), l.notified("pfcm", "received")
	const storm = 500
	sent := uint64(0)
	for i := range uint16(storm) {
		if i%16 == 0 {
			packets()
		}
		for _, forge := range []func(*notify.Envelope, *notify.PFCM){
			func(e *notify.Envelope, _ *notify.PFCM) { e.HopLimit = 254 },
			func(e *notify.Envelope, _ *notify.PFCM) { e.Src = netip.MustParseAddr("fe80::bad") },
			func(e *notify.Envelope, _ *notify.PFCM) { e.Src = netip.MustParseAddr("2001:db8::bad") },
			func(_ *notify.Envelope, m *notify.PFCM) { m.StreamID += 1 + i },
		} {
			ask(forge)
			sent += uint64(len(l.Uplinks))
		}
		l.put(host, l.pfcm(l.LeafA, nil)) // from the host itself
		sent++
	}
	l.until("the forged messages are counted", func() bool {
		return l.notified("pfcm", "received")-received+l.notified("pfcm", "dropped_full")+fabrictest.NeverArrived(t) >= sent*9/10
	})
	if arrive(); len(cnps) != before {
		t.Errorf("forged messages slowed the host by %d CNPs", len(cnps)-before)
	}
	// A true one that is repeated for ever is obeyed until the limit, and ignored as long. On a busy machine
	// a hold may run out before, and then the neighbors' limits no longer begin together; or this
	// test and sluiced get no CPU for a while. Then it begins again with all of them.
	fired, deadline := l.notified("pfcm", "watchdog"), time.Now().Add(patience)
	isIgnored := func() bool {
		var asked []time.Time
		for begin := time.Now(); time.Since(begin) < 2*heldFor; time.Sleep(5 * time.Millisecond) {
			asked = append(asked, time.Now())
			packets()
			ask(pause)
			cnps = notifications(slices.Clone(c.Frames()))
			if len(cnps) == before { // it is not known, without a sample for some time
				if time.Now().Before(deadline) {
					begin = time.Now()
				}
				continue
			}
			last := cnps[len(cnps)-1].Time
			without := len(asked) - slices.IndexFunc(append(asked, time.Now()), last.Before)
			if time.Since(last) > heldFor/2 && without >= 5 {
				return true
			}
		}
		return false
	}
	for attempt := 1; ; attempt++ {
		ignored := isIgnored()
		ask(cancel)
		if arrive(); ignored && l.notified("pfcm", "watchdog") > fired {
			t.Logf("a message that is repeated: ignored behind the limit, attempt %d", attempt)
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a message that is repeated: %d CNPs, %v without one: %v; %s", len(cnps)-before, heldFor/2, ignored, l.notifiedAll("pfcm"))
		}
		time.Sleep(heldFor)
		before = len(cnps)
	}
	if n := len(notifications(slices.Clone(other.Frames()))); n > 0 {
		t.Errorf("the other host got %d messages", n)
	}
}
