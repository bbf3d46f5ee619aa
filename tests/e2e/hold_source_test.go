// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
)

// TestHoldBySource: a switch that holds no flow, as ASICs are, slows the sender of a flow that a
// neighbor asks it to hold: the CNPs arrive at the host, for the queue pair that sends, and end
// with the hold.
//
//conformance:draft-yang/enforce
func TestHoldBySource(t *testing.T) {
	l := newLeaf(t)
	asic := filepath.Join(t.TempDir(), "asic")
	if err := os.WriteFile(asic, []byte("samples=10000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.neighbors("hold_limit_ms", "0")
	l.set("SLUICE", "global", "router_id_v6", "2001:db8:ff::1")
	l.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Addr().String()+"/128")
	l.start("--sai-profile", "SLUICE_ASIC="+asic)
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	l.awaitFields("SLUICE_CAPABILITY", "switch", "threshold_method", "none", "hold_method", "source", "hold_state", "active")
	c, err := l.A.Capture()
	if err != nil {
		t.Fatal(err)
	}
	host, uplinks := l.sender(l.A), make([]*fabric.Sender, len(l.Uplinks))
	for i, p := range l.Uplinks {
		uplinks[i] = l.sender(p.Peer())
	}
	n := 0
	ask := func(change func(*notify.Envelope, *notify.PFCM)) {
		for i, p := range l.Uplinks {
			l.put(uplinks[i], l.pfcm(p, change))
		}
	}
	// The flow is known from the first of its samples on, one of 256 packets.
	for deadline := time.Now().Add(patience); l.notified("cnp", "sent") == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %d packets the host got no CNP: PFCM %s; CNP %s", n, l.notifiedAll("pfcm"), l.notifiedAll("cnp"))
		}
		for range 32 {
			l.put(host, l.datagram(heldLabel, n))
			n++
		}
		ask(func(_ *notify.Envelope, m *notify.PFCM) { m.Time = 40_000 })
	}
	ask(func(_ *notify.Envelope, m *notify.PFCM) { m.Action, m.Time = notify.Cancel, 0 })
	var cnps []fabric.Frame
	l.until("every CNP arrives at the host", func() bool {
		cnps = notifications(slices.Clone(c.Frames()))
		return uint64(len(cnps)) == l.notified("cnp", "sent")
	})
	for _, f := range cnps {
		var p notify.Packet
		if err := p.Parse(f.Data, notify.DefaultCodePoints()); err != nil || p.Kind != notify.KindCNP || p.CNP.DestQP != ownQP || p.Envelope.Dst != fabric.HostA.Addr() {
			t.Fatalf("the host got %v %+v: %v", p.Kind, p.CNP, err)
		}
	}
	t.Logf("%d packets, %d CNPs; PFCM to the first CNP: p50 %s us, p99 %s us, n %s", n, len(cnps),
		l.notifiedText("pfcm", "enforce_us_p50"), l.notifiedText("pfcm", "enforce_us_p99"), l.notifiedText("pfcm", "enforce_us_n"))
}
