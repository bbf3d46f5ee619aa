// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A hold with RATE_COUNT counts and holds nothing; one with a rate lets the flow pass
// at that rate, in order.
func TestHoldRates(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	out, m, frame := portID(t, "out"), match(holdLabel, 5, hostA, hostB), labelled(5, 7, 26)
	d.hold(out, m, time.Minute, rateCount)
	l.sendNumbered(frame, 0, 50)
	l.wantOrder(0, 50)
	if s, _ := d.getHold(out, m); s.octets != uint64(50*len(frame)) || s.packets != 50 || s.waitingPackets != 0 || s.rate != rateCount {
		t.Errorf("hold %+v", s)
	}
	// The rate is right within 10 %: never more, and less only where the machine is busy.
	const n, perSecond = 100, 100
	rate := uint64(perSecond * 8 * len(frame))
	for first, deadline := 50, time.Now().Add(patience); ; first += n {
		d.hold(out, m, time.Minute, rate)
		start := time.Now()
		l.sendNumbered(frame, first, n)
		l.wantOrder(first, n)
		share := float64(n*8*len(frame)) / time.Since(start).Seconds() / float64(rate)
		t.Logf("%.3f of the rate that was asked for", share)
		if share > 1.1 {
			t.Errorf("%.3f of the rate that was asked for", share)
		}
		if share >= 0.9 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("always less than 0.9 of the rate that was asked for")
		}
	}
	// A lower rate, then none: what waits comes at once.
	d.hold(out, m, time.Minute, 8)
	l.sendNumbered(frame, 1_000_000, 5)
	until(t, "frames wait", func() bool { s, _ := d.getHold(out, m); return s.waitingPackets >= 4 })
	d.hold(out, m, time.Minute, rateCount)
	l.sendNumbered(frame, 1_000_005, 5)
	l.wantOrder(1_000_000, 10)
}

// The thread that sends what was held works for ms without a break: what decides about
// holds, with the same priority as the events, goes before it.
func TestThreadOfHoldsHasLowerPriority(t *testing.T) {
	newLine(t)
	d := startDriver(t)
	d.do(fastQueues + "SLUICE_REALTIME=7")
	got := map[string]uint32{}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		name, err := os.ReadFile(filepath.Join(task, "comm"))
		if err != nil {
			t.Fatal(err)
		}
		id, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			t.Fatal(err)
		}
		attr, err := unix.SchedGetAttr(id, 0)
		if err != nil {
			t.Fatal(err)
		}
		if attr.Policy == unix.SCHED_FIFO {
			got[strings.TrimSpace(string(name))] = attr.Priority
		}
	}
	if want := map[string]uint32{"events of flows": 7, "holds": 6}; !maps.Equal(got, want) {
		t.Errorf("real-time threads %v, want %v", got, want)
	}
}

// When the process is killed Linux closes its highest descriptor first: that is the netdev
// without which packets go direct, so that they need not wait until all others are closed.
func TestHoldQueuesGoFirst(t *testing.T) {
	newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	folder := fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	highest := 0
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		highest = max(highest, n)
	}
	name, err := os.Readlink(filepath.Join(folder, strconv.Itoa(highest)))
	if err != nil || name != "/dev/net/tun" || highest < 4096 {
		t.Errorf("descriptor %d is %q, %v", highest, name, err)
	}
}

// A hold queue that is full refuses packets, counts them, and keeps what it has; holds that
// find no room are refused.
func TestHoldQueueIsFull(t *testing.T) {
	for name, keys := range map[string]string{
		"keys": "SLUICE_HOLD_BYTES=65536 SLUICE_HOLDS=2", "former keys": "SLUICE_LANE_BYTES=65536 SLUICE_LANES=2",
		"both, of which the former count less": "SLUICE_LANE_BYTES=131072 SLUICE_HOLD_BYTES=65536 SLUICE_LANES=5 SLUICE_HOLDS=2",
	} {
		t.Run(name, func(t *testing.T) { holdQueueIsFull(t, keys) })
	}
}

// holdQueueIsFull has keys that give room for two holds of 65536 octets.
func holdQueueIsFull(t *testing.T, keys string) {
	t.Helper()
	l := newLine(t)
	d := startDriver(t)
	d.do("%s", fastQueues+keys)
	out, m, frame := portID(t, "out"), match(holdLabel, 5, hostA, hostB), labelled(5, 7, 26)
	fits := 65536 / len(frame)
	d.hold(out, m, time.Minute, 0)
	l.sendNumbered(frame, 0, fits+10)
	until(t, "frames are refused", func() bool { s, _ := d.getHold(out, m); return s.dropped == 10 })
	if s, _ := d.getHold(out, m); s.waitingPackets != uint64(fits) {
		t.Errorf("hold %+v, want %d packets", s, fits)
	}
	if s := d.flowStats(); s.full != 10 || s.held != fits {
		t.Errorf("%+v", s)
	}
	d.hold(out, match(holdClass, 1), time.Minute, 0)
	if status, _ := d.try("hold %s %s 1000 0", out, match(holdClass, 2)); status != statusTableFull {
		t.Errorf("status %d of a third hold, want %d", status, statusTableFull)
	}
	d.hold(out, m, 0, 0)
	l.wantOrder(0, fits)
	for _, bad := range []string{match(holdClass, 8), match(holdStream, 1<<16), match(9, 1), match4(holdLabel, 1)} {
		if status, _ := d.try("hold %s %s 1000 0", out, bad); status != statusInvalidParameter {
			t.Errorf("hold %s: status %d, want %d", bad, status, statusInvalidParameter)
		}
	}
	if status, _ := d.try("hold "+noPort+" %s 1000 0", m); status != statusInvalidObjectID {
		t.Errorf("status %d of a port that is not there", status)
	}
}

// As many holds as are promised can be there at once, again and again: those that are over and
// have drained make room at once, whether packets matched them or not.
func TestHoldsThatAreOverMakeRoom(t *testing.T) {
	const holds = 16
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues+"SLUICE_HOLDS=%d", holds)
	out := portID(t, "out")
	for round := range 20 {
		for i := range holds {
			d.hold(out, match(holdLabel, 1+round*holds+i, hostA, hostB), time.Minute, 0)
		}
		l.sendNumbered(labelled(1+round*holds, 7, 26), round, 1)
		until(t, "a frame waits", func() bool {
			s, _ := d.getHold(out, match(holdLabel, 1+round*holds, hostA, hostB))
			return s.waitingPackets == 1
		})
		if status, _ := d.try("hold %s %s 1000 0", out, match(holdClass, 2)); status != statusTableFull {
			t.Fatalf("status %d of hold %d, want %d", status, holds+1, statusTableFull)
		}
		for i := range holds {
			d.hold(out, match(holdLabel, 1+round*holds+i, hostA, hostB), 0, 0)
		}
		l.wantOrder(round, 1)
		until(t, "the hold has drained", func() bool {
			_, ok := d.getHold(out, match(holdLabel, 1+round*holds, hostA, hostB))
			return !ok
		})
	}
	if s := d.flowStats(); s.lostInQueues != 0 || s.held != 20 {
		t.Errorf("%+v", s)
	}
}

// Killed in a hold the switch lets packets go directly at once; what waited is lost,
// and the next process counts it, and counts on: one that takes over objects, and one that
// is to begin without any and finds none.
func TestKilledInAHold(t *testing.T) {
	for name, tt := range map[string]struct{ objects, profile string }{
		"objects":         {"create scheduler", fastQueues},
		"no objects":      {"", fastQueues + "SLUICE_COLD=1"},
		"objects go cold": {"create scheduler", fastQueues + "SLUICE_COLD=1"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t)
			d := startDriver(t)
			d.do(fastQueues)
			out, m, frame := portID(t, "out"), match(holdLabel, 5, hostA, hostB), labelled(5, 7, 26)
			for round := 1; round <= 2; round++ {
				if tt.objects != "" {
					d.do("%s", tt.objects)
				}
				d.hold(out, m, time.Hour, 0)
				l.sendNumbered(frame, 0, 20)
				until(t, "frames wait", func() bool { s, _ := d.getHold(out, m); return s.waitingPackets == 20 })
				d.kill()
				killed := time.Now()
				first := -1
				for n, deadline := 100, killed.Add(patience); first < 0; n++ {
					l.sendNumbered(frame, n, 1)
					if _, f, ok := l.wire.receive(); ok && isRoCE(f) {
						first = numbers([][]byte{f})[0]
					}
					if time.Now().After(deadline) {
						t.Fatal("nothing passes after the kill")
					}
				}
				t.Logf("direct %v after the kill, from frame %d on", time.Since(killed), first)
				for _, _, ok := l.wire.receive(); ok; _, _, ok = l.wire.receive() { // the rest of those sent
				}
				d = startDriver(t)
				d.do("%s", tt.profile)
				if s := d.flowStats(); s.lostInQueues != 20*round {
					t.Errorf("%+v, want %d lost", s, 20*round)
				}
				if _, ok := d.getHold(out, m); ok {
					t.Error("the hold is there after the kill")
				}
			}
		})
	}
}

// A process that is to begin without objects, and finds none, takes over the queues with what
// waits in them.
func TestColdStartKeepsWhatIsQueued(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues) // 1 Mbit/s
	l.sendNumbered(labelled(5, 7, 26), 0, 60)
	d.kill()
	d = startDriver(t)
	d.do(withQueues + " SLUICE_COLD=1")
	l.wantOrder(0, 60)
}

// untilStats polls the counters of flows until done says so, and tells them when it does not.
func untilStats(t *testing.T, d *driver, what string, done func(flowStats) bool) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("%+v", d.flowStats())
		}
	}()
	until(t, what, func() bool { return done(d.flowStats()) })
}

// A switch that is removed, and a process that ends in order, send what waits.
func TestRemovedInAHold(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	d.do("create scheduler")
	frame := labelled(5, 7, 26)
	d.hold(portID(t, "out"), match(holdLabel, 5, hostA, hostB), time.Hour, 0)
	d.hold("0", match(holdClass, 1), time.Hour, 0) // not 0, in which the kernel reports its multicast groups
	l.sendNumbered(frame, 0, 500)
	untilStats(t, d, "500 are held", func(s flowStats) bool { return s.held == 500 })
	d.do("remove-switch")
	l.wantOrder(0, 500)
	l.sendNumbered(frame, 500, 1)
	l.wantOrder(500, 1)
	d.stop()
	d = startDriver(t)
	d.do(fastQueues)
	if s := d.flowStats(); s.lostInQueues != 0 {
		t.Errorf("%+v", s)
	}
}

// pfcFrame is a PFC frame about some classes.
func pfcFrame(quanta map[int]int) []byte {
	f := append([]byte{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x08, 1, 1, 0, 0}, make([]byte, 42)...)
	for class, n := range quanta {
		f[17] |= 1 << class
		f[18+2*class], f[19+2*class] = byte(n>>8), byte(n)
	}
	return f
}

// A port obeys the PFC frames that it receives: the class waits for the quanta of the
// port's speed, or until it is resumed, and other classes do not.
func TestPortObeysPFC(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues) // 1 Mbit/s: 65535 quanta are 33.5 s
	out, sink := portID(t, "out"), ifindex(t, "sink")
	paused := func(class int) uint64 {
		s, _ := d.getHold(out, match(holdClass, class))
		return s.remaining
	}
	l.wire.send(sink, pfcFrame(map[int]int{3: 65535, 5: 1000}))
	until(t, "class 3 is paused", func() bool { return paused(3) > 0 })
	if us := paused(3); us > 33_553_920 {
		t.Errorf("paused for %d µs", us)
	}
	if us := paused(5); us > 512_000 {
		t.Errorf("paused for %d µs", us)
	}
	l.sendNumbered(labelled(5, 7, 26), 0, 3)
	l.sendNumbered(labelled(5, 7, 10), 100, 3) // queue 1
	l.wantOrder(100, 3)
	if s, _ := d.getHold(out, match(holdClass, 3)); s.waitingPackets != 3 {
		t.Errorf("hold %+v", s)
	}
	l.wire.send(sink, pfcFrame(map[int]int{3: 0}))
	l.wantOrder(0, 3)
	until(t, "class 3 goes on", func() bool { return paused(3) == 0 })
	// Frames of the other kind of pause, and short ones, are dropped and do nothing.
	l.wire.send(sink, append([]byte{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x08, 0, 1, 0xff, 0xff}, make([]byte, 42)...))
	l.wire.send(sink, []byte{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x08, 1, 1, 0, 0xff})
	l.sendNumbered(labelled(5, 7, 26), 10, 3)
	l.wantOrder(10, 3)
}

// A neighbor that pauses a class for ever is obeyed for a while: what waits leaves, though its frames go on.
func TestPortEndsAPauseWithoutAnEnd(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues) // 1 Mbit/s: 65535 quanta are 33.5 s
	out, sink := portID(t, "out"), ifindex(t, "sink")
	remaining := func() uint64 {
		s, _ := d.getHold(out, match(holdClass, 3))
		return s.remaining
	}
	storm := func() { l.wire.send(sink, pfcFrame(map[int]int{3: 65535})) }
	storm()
	until(t, "class 3 is paused", func() bool { return remaining() > 0 })
	if us := remaining(); us > 400_000 {
		t.Errorf("paused for %d µs", us)
	}
	l.sendNumbered(labelled(5, 7, 26), 0, 3)
	until(t, "class 3 goes on", func() bool { storm(); return remaining() == 0 })
	l.wantOrder(0, 3)
	until(t, "class 3 is paused again, after a while", func() bool { storm(); return remaining() > 0 })
}

// A port that goes while its flows are held takes them with it: they are counted, and
// the rest of the switch goes on.
func TestPortGoesInAHold(t *testing.T) {
	l := newLine(t)
	link(t, "out2", "sink2")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=in+out+out2 SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=1000 SLUICE_HOLD_FROZEN_MS=60000")
	out, m, frame := portID(t, "out"), match(holdLabel, 5, hostA, hostB), labelled(5, 7, 26)
	d.hold(out, m, time.Hour, 0)
	l.sendNumbered(frame, 0, 20)
	until(t, "frames wait", func() bool { s, _ := d.getHold(out, m); return s.waitingPackets == 20 })
	ip(t, "link del out")
	d.hold(out, m, time.Second, 0)
	until(t, "the hold queue is empty", func() bool { _, ok := d.getHold(out, m); return !ok })
	if s := d.flowStats(); s.lostInQueues != 20 {
		t.Errorf("%+v, want 20 lost", s)
	}
	ip(t, "route add 2001:db8:2::/48 via fe80::1 dev out2")
	l.wire = openWire(t)
	l.wire.send(l.in, sequence(frame, 7))
	until(t, "the other port goes on", func() bool {
		from, f, ok := l.wire.receive()
		return ok && isRoCE(f) && from == ifindex(t, "sink2") && numbers([][]byte{f})[0] == 7
	})
}

// 300 holds that are released and 300 that end by themselves, one after the other on a flow:
// no packet is lost, none overtakes another, none leaves inside a hold; how late the first
// leaves after it is logged.
func TestReleaseError(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	out, m, frame := portID(t, "out"), match(holdLabel, 5, hostA, hostB), labelled(5, 7, 26)
	var late []time.Duration
	const holds, each = 300, 3
	for i := range holds {
		d.hold(out, m, time.Minute, 0)
		l.sendNumbered(frame, each*i, each)
		until(t, "frames wait", func() bool { s, _ := d.getHold(out, m); return s.waitingPackets == each })
		released := time.Now()
		d.hold(out, m, 0, 0)
		l.wantOrder(each*i, 1)
		late = append(late, time.Since(released))
		l.wantOrder(each*i+1, each-1)
	}
	tell := func(what string) {
		slices.Sort(late)
		n := len(late)
		t.Logf("first packet after %s, seen by the test: n %d, p50 %v, p99 %v, worst %v", what, n, late[n/2], late[n*99/100], late[n-1])
	}
	tell("a release")
	late = nil
	const shortest = 5 * time.Millisecond
	sent := holds * each
	// A hold that ended before all was sent shows nothing: another one follows that is longer.
	for duration := shortest; len(late) < holds; sent += each {
		begin := time.Now() // the hold ends no earlier than duration from here
		d.hold(out, m, duration, 0)
		l.sendNumbered(frame, sent, each)
		inHold := time.Since(begin) < duration
		l.wantOrder(sent, 1)
		took := time.Since(begin)
		if !inHold {
			duration *= 2
		} else {
			late = append(late, took-duration)
			if took < duration {
				t.Errorf("the first packet left %v before the end of its hold", duration-took)
			}
			duration = max(shortest, duration*9/10)
		}
		l.wantOrder(sent+1, each-1)
	}
	tell("the end of a hold")
	if s := d.flowStats(); s.held > sent || s.full != 0 || s.lostInQueues != 0 {
		t.Errorf("%+v", s)
	}
}

// Ports have the rate and the room that the profile gives them.
func TestRatesOfPorts(t *testing.T) {
	newLine(t)
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=200,out=40 SLUICE_QUEUE_BYTES=in=5000,70000")
	for port, want := range map[string][2]string{"in": {"rate 200Mbit", "limit 5000b"}, "out": {"rate 40Mbit", "limit 70000b"}} {
		text := tc(t, "class", "show", "dev", port) + tc(t, "qdisc", "show", "dev", port)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("port %s has not %s:\n%s", port, w, text)
			}
		}
	}
	d.stop()
	for _, bad := range []string{"x", "0", "1,out", "1,out=", "1,=5", "-1", "out=2000000"} {
		d = startDriver(t)
		if status, _ := d.try("switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=%s", bad); status != statusInvalidParameter {
			t.Errorf("rate %s: status %d, want %d", bad, status, statusInvalidParameter)
		}
		d.stop()
	}
}

// A key of the profile that the library does not know is warned of, with a guess.
func TestUnknownProfileKeys(t *testing.T) {
	enterNamespace(t)
	link(t, "in", "source")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=in SLUICE_QUEUE_RATES=5 SLUICE_WHATEVER=1 OTHER=1")
	d.stop()
	for _, want := range []string{
		"profile key SLUICE_QUEUE_RATES is not known and has no effect; is SLUICE_QUEUE_RATE meant?\n",
		"profile key SLUICE_WHATEVER is not known and has no effect\n",
	} {
		if !strings.Contains(d.stderr.String(), want) {
			t.Errorf("stderr has not %q:\n%s", want, &d.stderr)
		}
	}
	if strings.Contains(d.stderr.String(), "OTHER") {
		t.Errorf("stderr:\n%s", &d.stderr)
	}
}

// 50000 flows in a queue at once have a slot each, or are counted.
func TestManyFlows(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=1 SLUICE_QUEUE_BYTES=100000000")
	d.setMarks(3, 1<<30, 1)
	const n = 50000
	frame := append([]byte(nil), labelled(0, 7, 26)[:ethLen+ipv6Len+udpLen+bthLen+20]...)
	frame[18], frame[19] = 0, udpLen+bthLen+20
	frame[14+ipv6Len+4], frame[14+ipv6Len+5] = 0, udpLen+bthLen+20
	for i := range n {
		frame[15], frame[16], frame[17] = frame[15]&0xf0|byte(i>>16), byte(i>>8), byte(i)
		l.wire.send(l.in, frame)
	}
	flows := d.flowOctets(3)
	gone, _, dropped, _ := d.queueStats(3)
	s := d.flowStats()
	t.Logf("%d flows sent, %d in the queue, %d left it, %d dropped, %d not monitored", n, len(flows), gone, dropped, s.unmonitored)
	if dropped == 0 && len(flows)+gone+s.unmonitored < n {
		t.Errorf("%d flows, %d that left, %d not monitored of %d", len(flows), gone, s.unmonitored, n)
	}
}
