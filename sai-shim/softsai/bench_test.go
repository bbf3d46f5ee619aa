// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkFlowMarks forwards packets by turns with the kernel alone, with the kernel's plainest qdisc that
// has a rate, with the kernel and the qdiscs that the switch's queues are, with the switch whose programs do
// nothing, and with the switch, whose queues have marks that no flow passes: what queues and the watch of
// flows cost, and how much of that is the kernel's own.
func BenchmarkFlowMarks(b *testing.B) {
	l := newLine(b)
	const flows, packets = 64, 50000
	frames := make([][]byte, flows)
	for i := range frames {
		frames[i] = labelled(1+i, 7+i, 26)[:ethLen+ipv6Len+udpLen+bthLen+100]
		length := udpLen + bthLen + 100
		frames[i][18], frames[i][19] = 0, byte(length)
		frames[i][14+ipv6Len+4], frames[i][14+ipv6Len+5] = 0, byte(length)
	}
	l.flood(frames, 1000) // the links are up
	empty := buildWith(b, "BPF_DEFINES=-DSOFTSAI_EMPTY", "SANITIZE=")
	watched := func(library string) time.Duration {
		d := startDriverOf(b, library)
		d.do("switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=1000000")
		for queue := range 8 {
			d.setMarks(queue, 1<<30, 1)
		}
		took := l.flood(frames, packets)
		if s := d.flowStats(); s.unmonitored != 0 || len(d.flowOctets(3)) != 0 {
			b.Errorf("%+v, flows %v", s, d.flowOctets(3))
		}
		d.setMarks(3, 0, 0)
		d.do("remove-switch")
		d.stop()
		return took
	}
	var without, bucket, shaped, idle, with time.Duration
	for b.Loop() {
		without += l.flood(frames, packets)
		tc(b, "qdisc", "add", "dev", "out", "root", "tbf", "rate", "8gbit", "burst", "1mb", "limit", "1mb")
		bucket += l.flood(frames, packets)
		tc(b, "qdisc", "del", "dev", "out", "root")
		l.shape(8, "8gbit")
		shaped += l.flood(frames, packets)
		tc(b, "qdisc", "del", "dev", "out", "root")
		idle += watched(empty)
		with += watched(program(b, "libsoftsai.so"))
	}
	b.ReportMetric(float64(without)/float64(with), "ratio")
	b.ReportMetric(float64(without)/float64(bucket), "ratio-tbf")
	b.ReportMetric(float64(without)/float64(shaped), "ratio-qdiscs")
	b.ReportMetric(float64(without)/float64(idle), "ratio-empty")
	b.ReportMetric(float64(shaped)/float64(with), "ratio-to-qdiscs")
	b.ReportMetric(float64(idle)/float64(with), "ratio-to-empty")
	b.ReportMetric(float64(packets*b.N)/with.Seconds(), "packets/s")
}

// shape gives the port out so many queues below one rate, of which packets take the first.
func (l *line) shape(queues int, rate string) {
	l.t.Helper()
	tc(l.t, "qdisc", "add", "dev", "out", "root", "handle", "1:", "htb", "default", "10")
	tc(l.t, "class", "add", "dev", "out", "parent", "1:", "classid", "1:1", "htb", "rate", rate)
	for q := range queues {
		class := fmt.Sprintf("1:%x", 0x10+q)
		tc(l.t, "class", "add", "dev", "out", "parent", "1:1", "classid", class, "htb", "rate", "1kbit", "ceil", rate)
		tc(l.t, "qdisc", "add", "dev", "out", "parent", class, "bfifo", "limit", "1mb")
	}
}

// flood sends n frames as fast as one thread can, and returns how long it took until
// all had arrived.
func (l *line) flood(frames [][]byte, n int) time.Duration {
	l.t.Helper()
	before, start := received(l.t, "sink"), time.Now()
	for i := range n {
		l.wire.send(l.in, frames[i%len(frames)])
		for deadline := time.Now().Add(patience); i%1024 == 1023 && received(l.t, "sink")-before < i-512; { // no more than the kernel queues
			if time.Now().After(deadline) {
				l.t.Fatalf("%d of %d packets arrived", received(l.t, "sink")-before, i)
			}
		}
	}
	for deadline := time.Now().Add(patience); received(l.t, "sink")-before < n; {
		if time.Now().After(deadline) {
			l.t.Fatalf("%d of %d packets arrived", received(l.t, "sink")-before, n)
		}
	}
	return time.Since(start)
}

// received is how many packets a netdev of the namespace received.
func received(t testing.TB, netdev string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/thread-self/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, counters, _ := strings.Cut(strings.TrimSpace(line), ":"); name == netdev {
			n, err := strconv.Atoi(strings.Fields(counters)[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no netdev ", netdev)
	return 0
}
