// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"sluice/orchagent-ext/fabric"
	"sluice/orchagent-ext/fabric/privateredis"
	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/notify"
	"sluice/orchagent-ext/roce"
	"sluice/orchagent-ext/sonicdb"
)

// opposite is the spine, seen as the leaf of host B, with a Redis and a sluiced of its
// own.
func (l *leaf) opposite() *leaf {
	l.t.Helper()
	shape := &fabric.LeafSpine{A: l.B, LeafA: l.SpineB, SpineB: l.LeafA, B: l.A, Leaf: l.Spine, Spine: l.Leaf}
	for _, p := range l.Uplinks {
		shape.Uplinks = append(shape.Uplinks, p.Peer())
	}
	s := &leaf{LeafSpine: shape, t: l.t, log: &logged{}, memory: filepath.Join(l.t.TempDir(), "sluiced.json")}
	var err error
	if s.redis, err = privateredis.Start(l.t.TempDir()); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(s.redis.Stop)
	databases, err := sonicdb.Load(s.redis.Config, "")
	if err != nil {
		l.t.Fatal(err)
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &s.config, "STATE_DB": &s.state, "COUNTERS_DB": &s.countersDB, "APPL_DB": &s.appl} {
		if *db, err = sonicdb.Open(databases, name, nil); err != nil {
			l.t.Fatal(err)
		}
		l.t.Cleanup(func() { _ = (*db).Close() })
	}
	s.ports()
	l.t.Cleanup(func() {
		if l.t.Failed() {
			l.t.Logf("the sluiced of the spine wrote:\n%s", s.log)
		}
	})
	return s
}

// neighbors says of each uplink who is at its other end, and switches PFCM on.
func (l *leaf) neighbors(pfcm ...string) {
	l.t.Helper()
	for _, p := range l.Uplinks {
		l.set("SLUICE_PORT", p.Name, "role", "fabric", "upstream_neighbor", p.Peer().LinkLocal.String())
	}
	l.set("SLUICE_PFCM", "global", append([]string{"admin_state", "enabled"}, pfcm...)...)
}

// notified is a counter of SLUICE_NOTIFY_STATS.
func (l *leaf) notified(message, name string) uint64 {
	l.t.Helper()
	n, _ := strconv.ParseUint(l.notifiedText(message, name), 10, 64) // 0 where there is no row
	return n
}

// notifiedText is a field of SLUICE_NOTIFY_STATS.
func (l *leaf) notifiedText(message, name string) string {
	l.t.Helper()
	all, err := l.countersDB.Read(l.t.Context(), "SLUICE_NOTIFY_STATS")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range all {
		if r.Key == message {
			return r.Fields[name]
		}
	}
	return ""
}

func (l *leaf) awaitNotified(message, name string, least uint64) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); l.notified(message, name) < least; time.Sleep(poll) {
		if time.Now().After(deadline) {
			l.t.Fatalf("%s of %s: %d, want %d", name, message, l.notified(message, name), least)
		}
	}
}

const heldLabel = 0x4711

// train are n packets of one flow.
func (l *leaf) train(n int) (frames [][]byte) {
	for psn := range n {
		frames = append(frames, l.frame(packet{qp: 0x77, psn: uint32(psn), label: heldLabel}))
	}
	return frames
}

func heldStream() uint16 {
	return flow.HashStreamID(0, fabric.HostA.Addr().As16(), fabric.HostB.Addr().As16(), heldLabel)
}

// inOrder fails unless what arrived is the whole train.
func (l *leaf) inOrder(arrived []fabric.Frame, n int) {
	l.t.Helper()
	var p roce.Packet
	for i, f := range arrived {
		if err := p.Parse(f.Data, len(f.Data)); err != nil {
			l.t.Fatalf("packet %d: %v", i, err)
		}
		if p.PSN() != uint32(i) {
			l.t.Fatalf("packet %d has PSN %d", i, p.PSN())
		}
	}
	if len(arrived) != n {
		l.t.Errorf("%d of %d packets arrived", len(arrived), n)
	}
}

// TestHoldUpstream: a flow that fills a slow queue at the spine is held at the leaf, seen
// in the rows of both, and released: every packet arrives, in order.
func TestHoldUpstream(t *testing.T) {
	l := newLeaf(t)
	s := l.opposite()
	l.neighbors("hold_limit_ms", "0") // a machine under load may drain for long
	s.neighbors()
	s.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000")
	s.set("SLUICE_PORT", s.LeafA.Name, "role", "edge", "threshold", "gold")
	l.start("--sai-profile", withQueues)
	s.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=1", s.LeafA.Name))
	for _, one := range []*leaf{l, s} {
		one.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
		one.awaitFields("SLUICE_CAPABILITY", "switch", "threshold_method", "exact", "hold_method", "exact", "hold_state", "active")
	}
	const n = 400 // of 206 octets: two thirds of a second at 1 Mbit/s
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	sender, err := l.A.Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i, f := range l.train(n) {
		if err := sender.Send(f); err != nil {
			t.Fatal(err)
		}
		if i == n/2 { // the rest comes while the flow is held, or is about to be
			l.awaitNotified("pfcm", "held", 1)
		}
	}
	if err := c.Wait(ctx, n); err != nil {
		t.Errorf("%d of %d packets arrived", c.Len(), n)
	}
	arrived, err := c.Stop()
	if err != nil {
		t.Fatal(err)
	}
	l.inOrder(arrived, n)
	s.awaitNotified("pfcm", "sent", 2) // pause and cancel
	s.awaitNotified("pfcm", "reaction_us_n", 1)
	l.awaitNotified("pfcm", "enforce_us_n", 1)
	for name, one := range map[string]*leaf{"reaction_us": s, "enforce_us": l, "release_error_us": l} {
		t.Logf("%s: n %s, p50 %s, p99 %s, max %s", name, one.notifiedText("pfcm", name+"_n"), one.notifiedText("pfcm", name+"_p50"),
			one.notifiedText("pfcm", name+"_p99"), one.notifiedText("pfcm", name+"_max"))
	}
	if lost := l.notified("pfcm", "lane_full") + l.notified("pfcm", "lane_lost"); lost > 0 {
		t.Errorf("%d packets lost in holds", lost)
	}
	// When the queue has drained nothing is held or congested.
	for deadline := time.Now().Add(patience); len(l.table("SLUICE_HOLD")) > 0 || len(s.table("SLUICE_FLOW")) > 0; time.Sleep(poll) {
		if time.Now().After(deadline) {
			t.Fatalf("left: holds %v, flows %v", l.table("SLUICE_HOLD"), s.table("SLUICE_FLOW"))
		}
	}
}

// TestHoldRow: while a neighbor refreshes, its hold and the packets that wait are in
// SLUICE_HOLD; what is not from the neighbor is counted; and SIGTERM releases everything.
func TestHoldRow(t *testing.T) {
	l := newLeaf(t)
	l.neighbors("hold_limit_ms", "0")
	l.start("--sai-profile", withQueues)
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	m := notify.PFCM{StreamID: heldStream(), QueueID: 3, Action: notify.Pause, Time: 65_535,
		Destination: fabric.HostB.Addr(), Source: fabric.HostA.Addr()}
	send := func(hops uint8) {
		t.Helper()
		for _, p := range l.Uplinks {
			e := notify.DefaultEnvelope(notify.KindPFCM)
			e.SrcMAC, e.DstMAC, e.Src, e.Dst, e.HopLimit = roce.MAC(p.Peer().MAC), roce.MAC(p.MAC), p.Peer().LinkLocal, p.LinkLocal, hops
			b, err := notify.AppendFrame(nil, &m, &e, notify.DefaultCodePoints())
			if err != nil {
				t.Fatal(err)
			}
			s, err := p.Peer().Sender()
			if err != nil {
				t.Fatal(err)
			}
			err = s.Send(b)
			_ = s.Close()
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	send(64)
	l.awaitNotified("pfcm", "dropped_hop_limit", uint64(len(l.Uplinks)))
	send(255)
	l.awaitNotified("pfcm", "held", uint64(len(l.Uplinks)))
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	sender, err := l.A.Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	const n = 50
	frames, sent := l.train(n), 0
	waiting := func() bool {
		for _, row := range l.table("SLUICE_HOLD") {
			if row["waiting_bytes"] != "" && row["waiting_bytes"] != "0" && row["stream_id"] == fmt.Sprint(heldStream()) && row["message"] == "pfcm" {
				return true
			}
		}
		return false
	}
	for deadline := time.Now().Add(patience); !waiting(); time.Sleep(poll) {
		send(255) // the time of a hold is 65 ms at most
		if sent < n/2 {
			if err := sender.Send(frames[sent]); err != nil {
				t.Fatal(err)
			}
			sent++
		}
		if time.Now().After(deadline) {
			t.Fatalf("no packets wait: %v", l.table("SLUICE_HOLD"))
		}
	}
	l.stop()
	for _, f := range frames[sent:] {
		if err := sender.Send(f); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Wait(ctx, n); err != nil {
		t.Errorf("%d of %d packets arrived", c.Len(), n)
	}
	arrived, err := c.Stop()
	if err != nil {
		t.Fatal(err)
	}
	l.inOrder(arrived, n)
	if rows := l.table("SLUICE_HOLD"); len(rows) > 0 {
		t.Errorf("rows of holds after the end: %v", rows)
	}
}
