// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/orchagent-ext/fabric"
	"sluice/orchagent-ext/roce"
)

const (
	// qpOctet is where the destination queue pair begins in a frame over IPv6.
	qpOctet = 14 + 40 + 8 + 5

	floodRate = 60000 // packets a second
	goodFlows = 32
	goodQP    = 0xf00000 // the first of the good flows'
)

// flood sends packets of random queue pairs from host A, until stop is called. The
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

// usage is what a process has used.
type usage struct {
	cpu      time.Duration
	resident int // MiB, now
	peak     int // MiB
}

func usageOf(t testing.TB, pid int) usage {
	t.Helper()
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var u usage
	for _, f := range fields[11:13] { // utime and stime, in ticks of 10 ms
		ticks, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		u.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			u.resident = kib >> 10
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			u.peak = kib >> 10
		}
	}
	return u
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

func (l *leaf) flowsNow() int {
	n, _ := strconv.Atoi(l.row("SLUICE_STATE", "global")["flows"])
	return n
}

func (l *leaf) entries() (n int) {
	for key := range l.objects() {
		if strings.HasPrefix(key, "flow/") && !strings.HasSuffix(key, "/counter") {
			n++
		}
	}
	return n
}

func TestRewriteLimitsFlowsOfAHostilePort(t *testing.T) {
	l := newLeaf(t)
	l.start("--sai-profile", "SLUICE_HIDE=compute")
	l.set("SLUICE", "global", "flow_capacity", "1024")
	l.enable()
	l.awaitFields("SLUICE_CAPABILITY", "switch", "flow_label_method", "rewrite")
	old := l.labelled(goodQP, patience)
	stop := l.floodRandom(1)
	before, start := usageOf(t, l.sluiced.Pid), time.Now()
	time.Sleep(5 * time.Second)
	new := l.labelled(goodQP+goodFlows, 5*time.Second)
	most := l.entries()
	elapsed := time.Since(start)
	after := usageOf(t, l.sluiced.Pid)
	sent := stop()
	var slowest time.Duration
	for _, d := range new {
		slowest = max(slowest, d)
	}
	t.Logf("%d packets in %v: old %d, new %d of %d labelled, the slowest after %v; %d entries; CPU %.0f %%, %d MiB",
		sent, elapsed, len(old), len(new), goodFlows, slowest, most, 100*(after.cpu-before.cpu).Seconds()/elapsed.Seconds(), after.peak)
}
