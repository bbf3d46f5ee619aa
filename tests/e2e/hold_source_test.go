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

// leastIgnored is how many messages in a row are ignored before the limit counts as seen.
const leastIgnored = 10

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
	const burst = 32
	n := 0
	packets := func() {
		for range burst {
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
	forge := func(e *notify.Envelope, _ *notify.PFCM) { e.Src = netip.MustParseAddr("fe80::bad") }
	var cnps []fabric.Frame
	// arrive waits until no hold is left and a later message is counted: so is every CNP that was sent
	// by then. It returns when all of them have arrived at the host.
	arrive := func() {
		t.Helper()
		l.quiet()
		counted := l.notified("pfcm", "dropped_sender")
		l.until("a later message is counted", func() bool {
			ask(forge)
			return l.notified("pfcm", "dropped_sender") > counted
		})
		l.until("every CNP arrives at the host", func() bool {
			cnps = notifications(slices.Clone(c.Frames()))
			return uint64(len(cnps)) == l.notified("cnp", "sent")
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
		for _, forged := range []func(*notify.Envelope, *notify.PFCM){
			func(e *notify.Envelope, _ *notify.PFCM) { e.HopLimit = 254 },
			forge,
			func(e *notify.Envelope, _ *notify.PFCM) { e.Src = netip.MustParseAddr("2001:db8::bad") },
			func(_ *notify.Envelope, m *notify.PFCM) { m.StreamID += 1 + i },
		} {
			ask(forged)
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
	// A true one that the neighbor on the flow's path repeats for ever is obeyed until the limit, and ignored as
	// long, by turns.
	path, idle := -1, l.uplinks()
	packets()
	l.until("the flow leaves by an uplink", func() bool {
		for i, sent := range l.uplinks() {
			if sent >= idle[i]+burst {
				path = i
			}
		}
		return path >= 0
	})
	fired, ignored := l.notified("pfcm", "watchdog"), l.notified("pfcm", "ignored")
	obeyed, seen, asked, most := false, c.Len(), 0, 0 // most messages between two CNPs
	l.until("a message that is repeated is obeyed, released by the limit and ignored", func() bool {
		packets()
		l.put(uplinks[path], l.pfcm(l.Uplinks[path], pause))
		asked++
		if c.Len() > seen {
			frames := c.Frames()[seen:]
			if seen += len(frames); len(notifications(frames)) > 0 {
				if obeyed {
					most = max(most, asked)
				}
				obeyed, asked = true, 0
			}
		}
		return most >= leastIgnored && l.notified("pfcm", "watchdog") > fired && l.notified("pfcm", "ignored") >= ignored+leastIgnored
	})
	t.Logf("a message that is repeated: %d in a row without a CNP; %s", most, l.notifiedAll("pfcm"))
	if n := len(notifications(slices.Clone(other.Frames()))); n > 0 {
		t.Errorf("the other host got %d messages", n)
	}
}
