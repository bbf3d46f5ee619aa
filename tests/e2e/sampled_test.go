// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
)

// The traffic of the tests of method sampled: two flows of 40 % of what comes to an egress of
// half its speed, and mice. Each sender's socket keeps some 100 kB in the queue at most, and the
// mice together have one: a large flow is above the mark, a mouse is not.
const (
	sampledEgress   = 20 // Mbit/s
	sampledElephant = 16.0
	sampledMouse    = 1.0
	sampledMice     = 5
	sampledHigh     = 40_000 // octets
)

// newSampled is a leaf with the limits of an ASIC, whose only uplink is slow.
func newSampled(t *testing.T, samplingRate int, pairs ...string) *leaf {
	t.Helper()
	l := newLeaf(t)
	asic := filepath.Join(t.TempDir(), "asic")
	if err := os.WriteFile(asic, []byte("samples=10000\nqueues_ms=10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.onePath()
	if err := l.Leaf.Route(fabric.HostB4.Masked(), fabric.Hop{Via: spineAddress(0), Out: l.Uplinks[0]}); err != nil {
		t.Fatal(err)
	}
	slow := l.Uplinks[0].Name
	l.set("SLUICE", "global", "router_id_v6", "2001:db8:ff::1", "router_id", "192.0.2.1")
	l.set("SLUICE_THRESHOLD", "wan", append([]string{"high_bytes", fmt.Sprint(sampledHigh), "sampling_rate", fmt.Sprint(samplingRate), "queues@", "0"}, pairs...)...)
	l.set("SLUICE_PORT", l.LeafA.Name, "role", "edge")
	l.set("SLUICE_PORT", slow, "role", "fabric", "threshold", "wan")
	l.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "destination_qp", "copy")
	for _, host := range []string{fabric.HostA.Masked().String(), fabric.HostA4.Masked().String()} {
		l.set("SLUICE_RATE_ADVICE_HOST", host, "NULL", "NULL")
	}
	l.start("--sai-profile", "SLUICE_ASIC="+asic, "--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=%d", slow, sampledEgress))
	l.awaitFields("SLUICE_CAPABILITY", "switch", "threshold_method", "sampled", "threshold_state", "active")
	return l
}

// TestSampledNamesTheFlowsThatFillAQueue: on a switch that watches no flow, the senders of the two
// large flows of a queue are advised, by its depth and one of four packets; those of mice are not.
func TestSampledNamesTheFlowsThatFillAQueue(t *testing.T) {
	for _, four := range []bool{false, true} {
		t.Run(map[bool]string{false: "IPv6", true: "IPv4"}[four], func(t *testing.T) {
			if four {
				soakOnly(t)
			}
			l := newSampled(t, 4)
			c, err := l.A.Capture()
			if err != nil {
				t.Fatal(err)
			}
			streams := elephantsAndMice(four)
			began := time.Now()
			loads := []*load{l.load(streams[0]), l.load(streams[1]), l.load(streams[2:]...)}
			told := map[uint32]time.Duration{}
			l.until("the senders of both large flows are advised", func() bool {
				for _, f := range notifications(slices.Clone(c.Frames())) {
					var p notify.Packet
					if p.Parse(f.Data, notify.DefaultCodePoints()) != nil || p.Kind != notify.KindRateAdvice {
						continue // host B refuses the packets
					}
					if qp := p.RateAdvice.DestQP; told[qp] == 0 {
						told[qp] = f.Time.Sub(began)
					}
				}
				return told[elephantQP] != 0 && told[elephantQP+1] != 0
			})
			l.awaitFields("SLUICE_FLOW", flowKey(four, elephantQP), "state", "congested", "exact", "false")
			for _, ld := range loads {
				ld.stop.Store(true)
			}
			for _, ld := range loads {
				ld.done.Wait()
			}
			if t.Logf("advised after %v", told); len(told) != 2 {
				t.Errorf("advised are %v: want the two large flows alone", told)
			}
		})
	}
}

// TestSampledSendsPFCMWhereTheBufferTakesTheDelay: PFCM is left off, with the figures in a warning, where the
// buffer of a queue is smaller than what comes to it until a flow is named; where it is larger, the neighbor is
// asked to hold the flow that fills the queue.
func TestSampledSendsPFCMWhereTheBufferTakesTheDelay(t *testing.T) {
	l := newSampled(t, 4, "buffer_bytes", "1000000")
	slow := l.Uplinks[0].Name
	l.set("PORT", slow, "speed", "1000")
	l.set("SLUICE_PORT", l.LeafA.Name, "role", "fabric", "upstream_neighbor", l.A.LinkLocal.String())
	l.set("SLUICE_PFCM", "global", "admin_state", "enabled")
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	want := "PFCM is not sent, since flows are named too late by the method sampled: queue 0 of " + slow +
		": a queue that grows by 1000 Mbit/s takes 18750000 octets in the 150ms until it is noticed, and its buffer has 1000000"
	l.until("a warning has the figures", func() bool { return strings.Contains(l.row("SLUICE_STATE", "global")["warnings"], want) })
	ld := l.load(&stream{qp: elephantQP, label: 1, size: 1000, mbps: 2 * sampledElephant})
	l.until("the flow is congested", func() bool { return l.congested() > 0 })
	l.until("Rate Advice is sent", func() bool {
		return l.notified("rate-advice", "sent") > 0 || l.notified("rate-advice", "qp_unknown") > 0
	})
	if n := l.notified("pfcm", "sent"); n != 0 {
		t.Errorf("%d PFCM are sent", n)
	}
	l.set("SLUICE_THRESHOLD", "wan", "high_bytes", fmt.Sprint(sampledHigh), "sampling_rate", "4", "queues@", "0", "buffer_bytes", "20000000")
	l.until("PFCM is sent", func() bool { return l.notified("pfcm", "sent") > 0 })
	l.until("the warning has gone", func() bool { return !strings.Contains(l.row("SLUICE_STATE", "global")["warnings"], "PFCM is not sent") })
	ld.stop.Store(true)
	ld.done.Wait()
}

// flowKey is the key of a flow's row.
func flowKey(four bool, qp uint32) string {
	if four {
		return fmt.Sprintf("%s,%s,%06x", fabric.HostA4.Addr(), fabric.HostB4.Addr(), qp)
	}
	return fmt.Sprintf("%s,%s,%06x", fabric.HostA.Addr(), fabric.HostB.Addr(), qp)
}
