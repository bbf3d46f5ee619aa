// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/orchagent-ext/wire/roce"
)

// traffic is packets of the flows of [leaf.sessions], without a pause.
type traffic struct {
	stop context.CancelFunc
	done chan struct{}

	sent, arrived, changed int
	err                    error
}

// traffic begins to send; end tells what became of it, by the label that each flow is
// to have.
func (l *leaf) traffic(want map[uint32]uint32) *traffic {
	l.t.Helper()
	ctx, stop := context.WithCancel(l.t.Context())
	tr := &traffic{stop: stop, done: make(chan struct{})}
	frames := l.sessions(1)
	capture, err := l.B.Capture()
	if err != nil {
		l.t.Fatal(err)
	}
	sender, err := l.A.Sender()
	if err != nil {
		l.t.Fatal(err)
	}
	go func() {
		defer close(tr.done)
		defer sender.Close()
		for ctx.Err() == nil && tr.err == nil {
			for _, f := range frames {
				if tr.err = sender.Send(f); tr.err != nil {
					break
				}
				tr.sent++
			}
			arriving, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			_ = capture.Wait(arriving, tr.sent) // what is lost is counted below
			cancel()
			wait := time.NewTimer(time.Millisecond) // between bursts: the machine does something else, too
			select {
			case <-wait.C:
			case <-ctx.Done():
			}
			wait.Stop()
		}
		arrived, err := capture.Stop()
		if err != nil {
			tr.err = err
		}
		tr.arrived = len(arrived)
		var p roce.Packet
		for _, f := range arrived {
			if err := p.Parse(f.Data, len(f.Data)); err != nil || p.FlowLabel() != want[p.DestQP()] {
				tr.changed++
			}
		}
	}()
	return tr
}

func (tr *traffic) end(t *testing.T) {
	t.Helper()
	tr.stop()
	<-tr.done
	if tr.err != nil {
		t.Fatal(tr.err)
	}
}

// TestKillManyTimesWhileAllChanges: with the method rewrite, kill -9 again and again,
// while rows change, rows turn bad, and ports come and go, before the kill and while
// no sluiced runs: no packet is lost, and none has another label.
func TestKillManyTimesWhileAllChanges(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	l := newLeaf(t)
	l.way = way{method: "rewrite", args: rewriting}
	l.start()
	l.enable()
	l.learned()
	want := flowLabels(t, l.send(l.sessions(1)))
	for qp, label := range want {
		if label == 0 {
			t.Fatalf("queue pair %#x has no label", qp)
		}
	}
	was := l.objects()
	netdev := false
	changes := []func(){
		func() { l.labels() },
		func() { l.labels("algorithm", "md5") },
		func() { l.labels("rewrite", "sometimes") },
		func() { l.set("SLUICE_PORT", l.LeafA.Name, "role", "edge") },
		func() { l.set("SLUICE_PORT", l.LeafA.Name, "role", "core") },
		func() { l.global("cpu_rate", "many") },
		func() { l.global("cpu_rate", fmt.Sprint(10000+random.IntN(100000)), "cpu_burst", "10000") },
		func() { l.set("SLUICE_PORT", "Ethernet400", "role", "edge") },
		func() { l.remove("SLUICE_PORT", "Ethernet400") },
		func() {
			l.set("PORT", "new0", "admin_status", "up")
			l.set("SLUICE_PORT", "new0", "role", "edge")
		},
		func() {
			l.remove("SLUICE_PORT", "new0")
			l.remove("PORT", "new0")
		},
		func() {
			if netdev = !netdev; netdev {
				l.in("ip", "link", "add", "new0", "type", "veth", "peer", "name", "far0")
			} else {
				l.in("ip", "link", "del", "new0")
			}
		},
	}
	change := func() {
		for range 1 + random.IntN(4) {
			changes[random.IntN(len(changes))]()
		}
	}
	sent := 0
	rounds := 6
	if soak {
		rounds = 100
	}
	for range rounds {
		tr := l.traffic(want)
		change()
		if random.IntN(2) == 0 { // else the kill comes in the middle of it
			l.await("SLUICE_STATE", "global", func(f map[string]string) bool { return f["flow_label"] == "active" })
		}
		l.kill()
		change()
		l.launch()
		l.awaitFields("SLUICE_STATE", "global", "flow_label", "active", "flows", "64")
		tr.end(t)
		if sent += tr.sent; tr.arrived != tr.sent || tr.changed > 0 {
			t.Fatalf("of %d packets %d arrived, %d with another label", tr.sent, tr.arrived, tr.changed)
		}
	}
	if netdev {
		l.in("ip", "link", "del", "new0")
	}
	l.remove("SLUICE_PORT", "Ethernet400")
	l.remove("SLUICE_PORT", "new0")
	l.remove("PORT", "new0")
	l.global()
	l.set("SLUICE_PORT", l.LeafA.Name, "role", "edge")
	l.labels()
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active", "flows", "64", "config_errors", "0")
	l.until(fmt.Sprintf("the objects are the %d of before", len(was)), func() bool { return equalKeys(l.objects(), was) })
	t.Logf("%d kills: %d packets, 0 lost, 0 with another label", rounds, sent)
}
