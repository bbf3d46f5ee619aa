// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

const (
	floodRate = 60000 // packets a second
	goodFlows = 32
	goodQP    = 0xf00000 // the first of the good flows'
)

// floodRandom sends packets of random queue pairs, some of each, from host A, until stop is called. The
// leaf drops them behind its ingress pipeline. stop returns how many were sent.
func (l *leaf) floodRandom(packets int) (stop func() int) {
	l.t.Helper()
	l.in("ip", "-6", "route", "replace", "blackhole", "2001:db8:bad::/48")
	frame := l.frame(packet{})
	copy(frame[14+24:], []byte{0x20, 0x01, 0x0d, 0xb8, 0x0b, 0xad}) // the destination
	sender, err := l.A.Sender()
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	var failed atomic.Pointer[error]
	done.Go(func() {
		random := rand.New(rand.NewPCG(1, 2))
		start := time.Now()
		for ctx.Err() == nil {
			due := int(time.Since(start).Seconds() * floodRate)
			for sender.Sent < due && ctx.Err() == nil {
				qp := random.Uint32N(goodQP)
				for range packets {
					binary.BigEndian.PutUint32(frame[qpOctet-1:], qp) // the octet before is reserved
					if err := sender.Send(frame); err != nil {
						failed.Store(&err)
						return
					}
				}
			}
			time.Sleep(time.Millisecond)
		}
	})
	return sync.OnceValue(func() int {
		cancel()
		done.Wait()
		_ = sender.Close()
		if err := failed.Load(); err != nil {
			l.t.Fatal(*err)
		}
		return sender.Sent
	})
}

// labelled sends the packets of good flows, from host A, every 20 ms, until each
// arrives with a label, or patience is over. It returns how long each flow went
// without.
func (l *leaf) labelled(firstQP uint32, patience time.Duration) map[uint32]time.Duration {
	l.t.Helper()
	c, err := l.B.Capture()
	if err != nil {
		l.t.Fatal(err)
	}
	sender, err := l.A.Sender()
	if err != nil {
		l.t.Fatal(err)
	}
	defer sender.Close()
	start := time.Now()
	took := map[uint32]time.Duration{}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for psn := uint32(0); len(took) < goodFlows && ctx.Err() == nil; psn++ {
		for i := range uint32(goodFlows) {
			if err := sender.Send(l.frame(packet{qp: firstQP + i, psn: psn})); err != nil {
				l.t.Fatal(err)
			}
		}
		until := time.Now().Add(20 * time.Millisecond)
		_ = c.Wait(ctx, sender.Sent) // the flood may cost some
		time.Sleep(time.Until(until))
		if psn%10 == 9 || ctx.Err() != nil {
			arrived, err := c.Stop()
			if err != nil {
				l.t.Fatal(err)
			}
			for qp, at := range firstLabelled(l.t, arrived) {
				if _, had := took[qp]; !had {
					took[qp] = at.Sub(start)
				}
			}
			sender.Sent = 0
			if c, err = l.B.Capture(); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	if _, err := c.Stop(); err != nil {
		l.t.Fatal(err)
	}
	return took
}

// firstLabelled is when the first packet with a label came, by queue pair.
func firstLabelled(t testing.TB, arrived []fabric.Frame) map[uint32]time.Time {
	t.Helper()
	at := map[uint32]time.Time{}
	var p roce.Packet
	for _, f := range arrived {
		if err := p.Parse(f.Data, len(f.Data)); err != nil {
			continue
		}
		if _, had := at[p.DestQP()]; !had && p.FlowLabel() != 0 {
			at[p.DestQP()] = f.Time
		}
	}
	return at
}

// entries are the flows that have an entry, by the ledger.
func (l *leaf) entries() (n int) {
	for key := range l.objects() {
		if strings.HasPrefix(key, "flow/") {
			n++
		}
	}
	return n
}

// flooded is a leaf whose CPU computes labels of up to 1,024 flows, with good ones that
// have theirs.
func flooded(t testing.TB) *leaf {
	l := newLeaf(t)
	l.start("--sai-profile", "SLUICE_HIDE=compute")
	l.set("SLUICE", "global", "flow_capacity", "1024")
	l.enable()
	l.awaitFields("SLUICE_CAPABILITY", "switch", "flow_label_method", "rewrite")
	if n := len(l.labelled(goodQP, patience)); n != goodFlows {
		t.Fatalf("%d of %d flows have a label without any flood", n, goodFlows)
	}
	return l
}

// TestRewriteLimitsFlowsOfAHostilePort: a port that sends packets of random queue
// pairs, each once or each several times, takes no label from a flow of the same port
// that sends, and new ones get theirs. There are never more entries than configured,
// and the operator is told.
func TestRewriteLimitsFlowsOfAHostilePort(t *testing.T) {
	for _, packets := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d packets a queue pair", packets), func(t *testing.T) {
			if packets > 1 {
				soakOnly(t)
			}
			l := flooded(t)
			stop := l.floodRandom(packets)
			received := func() uint64 {
				c, err := l.LeafA.Counters()
				if err != nil {
					t.Fatal(err)
				}
				return c.RxPackets
			}
			most := 0
			for round := range uint32(3) {
				before := received()
				l.until("the flood goes on", func() bool {
					most = max(most, l.entries())
					return received() >= before+20*1024 // of the flows that have room
				})
				var old [][]byte
				for n := range uint32(10 * goodFlows) {
					old = append(old, l.frame(packet{qp: goodQP + n%goodFlows}))
				}
				if _, none, _ := labels(t, l.send(old), flow.DraftLiteral); none > 0 {
					t.Errorf("%d of %d packets of flows that had a label have none", none, len(old))
				}
				took := l.labelled(goodQP+(1+round)*goodFlows, patience)
				t.Logf("%d of %d new flows have a label, the last within %v", len(took), goodFlows, slowest(took))
				if len(took) != goodFlows {
					t.Error("want all")
				}
			}
			if most > 1024 {
				t.Errorf("%d entries, though flow_capacity is 1024", most)
			}
			if packets > 1 {
				l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
					return f["state"] == "degraded" && strings.Contains(f["warnings"], "flow_capacity of SLUICE|global are in use") && strings.Contains(f["warnings"], l.LeafA.Name)
				})
			}
			sent := stop()
			counted := func(name string) (n int) {
				all, err := l.countersDB.Read(t.Context(), "SLUICE_STATS")
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range all {
					n, _ = strconv.Atoi(r.Fields[name])
				}
				return n
			}
			once, refused, evicted := counted("cpu_seen_once"), counted("flows_refused_capacity"), counted("flows_evicted")
			t.Logf("%d packets sent; %d entries at most; %d packets of new flows, %d times refused, %d evicted", sent, most, once, refused, evicted)
			if once == 0 || packets > 1 && (refused == 0 || evicted == 0) {
				t.Error("want these counted")
			}
			// When it is over all is well again.
			l.await("SLUICE_STATE", "global", func(f map[string]string) bool { return f["state"] == "running" })
		})
	}
}

func slowest(took map[uint32]time.Duration) (d time.Duration) {
	for _, t := range took {
		d = max(d, t)
	}
	return d
}

// BenchmarkRewriteUnderAFlood is how long new flows go without a label while their
// port sends 60,000 packets of random queue pairs a second, and what sluiced takes.
func BenchmarkRewriteUnderAFlood(b *testing.B) {
	l := flooded(b)
	stop := l.floodRandom(1)
	before, start := usageOf(b, l.sluiced.Pid), time.Now()
	time.Sleep(5 * time.Second)
	var last time.Duration
	got := 0
	for round := uint32(1); b.Loop(); round++ {
		took := l.labelled(goodQP+round*goodFlows, patience)
		got, last = got+len(took), max(last, slowest(took))
	}
	after, elapsed := usageOf(b, l.sluiced.Pid), time.Since(start)
	sent := stop()
	b.ReportMetric(last.Seconds(), "s")
	b.ReportMetric(float64(got)/float64(b.N), "flows")
	b.ReportMetric(100*(after.cpu-before.cpu).Seconds()/elapsed.Seconds(), "cpu-percent")
	b.ReportMetric(float64(after.peak), "MiB")
	b.ReportMetric(float64(sent)/elapsed.Seconds(), "packets/s")
}
