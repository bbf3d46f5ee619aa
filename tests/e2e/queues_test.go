// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const withQueues = "SLUICE_QUEUES=8"

// TestQueuesOfTheSoftwareSwitchAreCounted: with the profile's key the software switch has queues. Packets go by
// their DSCP, COUNTERS_DB says how many, and a kill -9 takes nothing of it away.
func TestQueuesOfTheSoftwareSwitchAreCounted(t *testing.T) {
	l := newLeaf(t)
	before := l.qdiscs()
	l.set("SLUICE", "global", "warm_restart", "enabled")
	l.start("--sai-profile", withQueues)
	l.enable()
	l.awaitFields("SLUICE_CAPABILITY", "switch", "queues", "8")
	l.send(classified(l.sessions(2), 26))
	l.awaitQueued(3, 128)
	row := l.queueRow(l.Uplinks[0].Name, 5)
	for _, field := range []string{"packets", "bytes", "dropped", "queued_bytes"} {
		if row[field] != "0" {
			t.Errorf("%s of a queue that nothing went into: %q", field, row[field])
		}
	}
	if mark, ok := row["watermark_bytes"]; ok {
		t.Errorf("watermark %s, which the kernel does not keep", mark)
	}

	queues := l.qdiscs()
	l.sluiced.Kill()
	l.send(classified(l.sessions(1), 26))
	l.start("--sai-profile", withQueues)
	l.send(classified(l.sessions(1), 26))
	l.awaitQueued(3, 256)
	if now := l.qdiscs(); now != queues {
		t.Errorf("queues were\n%sand are\n%s", queues, now)
	}

	l.set("SLUICE", "global", "warm_restart", "disabled")
	l.stop()
	if now := l.qdiscs(); now != before {
		t.Errorf("qdiscs were\n%sand are\n%s", before, now)
	}
}

// TestNoQueues: without the key no qdisc is touched, and the reason is in STATE_DB.
func TestNoQueues(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start()
	c := l.await("SLUICE_CAPABILITY", "switch", func(f map[string]string) bool { return f["queues"] != "" })
	if c["queues"] != "0" || !strings.Contains(c["queues_reason"], withQueues) {
		t.Errorf("capability %v", c)
	}
	if now := l.qdiscs(); strings.Contains(now, "htb") {
		t.Errorf("qdiscs %s", now)
	}
	if row := l.queueRow(l.LeafA.Name, 0); row != nil {
		t.Errorf("a row of a queue that is not there: %v", row)
	}
}

// qdiscs are those of the leaf's namespace, but for the TAP of held packets, which comes
// and goes with its process.
func (l *leaf) qdiscs() string {
	l.t.Helper()
	lines := slices.DeleteFunc(strings.SplitAfter(l.in("tc", "qdisc", "show"), "\n"), func(line string) bool {
		return strings.Contains(line, "softsai-hold")
	})
	return strings.Join(lines, "")
}

// classified gives packets a DSCP, which the ICRC does not cover.
func classified(frames [][]byte, dscp byte) [][]byte {
	for _, f := range frames {
		f[14], f[15] = f[14]&0xf0|dscp>>2, f[15]&0x3f|dscp<<6
	}
	return frames
}

func (l *leaf) queueRow(port string, queue int) map[string]string {
	l.t.Helper()
	all, err := l.countersDB.Read(l.t.Context(), "SLUICE_QUEUE_STATS")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range all {
		if r.Key == port+"|"+strconv.Itoa(queue) {
			return r.Fields
		}
	}
	return nil
}

// awaitQueued waits until so many packets went through a queue of all uplinks together.
func (l *leaf) awaitQueued(queue int, want uint64) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		sum := uint64(0)
		for _, p := range l.Uplinks {
			n, _ := strconv.ParseUint(l.queueRow(p.Name, queue)["packets"], 10, 64)
			sum += n
		}
		if sum == want {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%d packets in queue %d of the uplinks, want %d", sum, queue, want)
		}
	}
}

// BenchmarkQueues sends packets through the leaf by turns without and with queues,
// that do not fill: what they cost a port that has them.
func BenchmarkQueues(b *testing.B) {
	l := newLeaf(b)
	l.set("SLUICE", "global", "warm_restart", "disabled")
	frames := classified(l.sessions(300), 26)
	turn := func(queues string, args ...string) time.Duration {
		l.start(args...)
		l.awaitFields("SLUICE_CAPABILITY", "switch", "queues", queues) // not the turn's before
		l.enable()
		took := l.flood(frames)
		l.stop()
		return took
	}
	var without, with time.Duration
	for b.Loop() {
		without += turn("0")
		with += turn("8", "--sai-profile", withQueues)
	}
	b.ReportMetric(float64(without)/float64(with), "ratio")
	b.ReportMetric(float64(len(frames)*b.N)/with.Seconds(), "packets/s")
}
