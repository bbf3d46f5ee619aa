// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	queueList      = "QOS_QUEUE_LIST"       // of a port
	queueScheduler = "SCHEDULER_PROFILE_ID" // of a queue
	setTC          = "ACTION_SET_TC"
	setDSCP        = "ACTION_SET_DSCP"

	// A frame of these tests, and a port so slow that it takes 8 ms for one: a burst
	// fills its queues however busy the machine is.
	queueFrame = ethLen + ipv6Len + udpLen + bthLen + 924 + icrcLen
	withQueues = "switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=1 "
)

// patience is for what takes milliseconds on an idle machine. The flag -patience sets it.
var patience = 60 * time.Second

// line is a router in the test's namespace with a port in and a port out, whose
// queues the tests fill.
type line struct {
	t    testing.TB
	wire *wire // of what leaves the router, in its order
	in   int   // the other end of the port in
}

func newLine(t testing.TB) *line {
	t.Helper()
	enterNamespace(t)
	for _, name := range []string{"ipv6/conf/all/forwarding", "ipv4/ip_forward"} {
		sysctl(t, name, 1)
	}
	link(t, "in", "source")
	link(t, "out", "sink")
	// One queue that one CPU at a time reads: a veth without GRO has a queue for each CPU
	// that sends, and packets overtake each other in it.
	for _, netdev := range []string{"in", "source", "out", "sink"} {
		setGRO(t, netdev)
	}
	ip(t, "route add 2001:db8:2::/48 via fe80::1 dev out", "route add 10.2.0.0/16 dev out")
	w := openWire(t)
	err := errors.Join(
		unix.SetsockoptInt(w.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20),
		unix.Bind(w.fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: ifindex(t, "sink")}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return &line{t: t, wire: w, in: ifindex(t, "source")}
}

func htons(v uint16) uint16 { return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v)) }

// flowFrame is a frame of a flow, which is its source port.
func flowFrame(flow, dscp int) []byte {
	udp := appendUDP(nil, uint16(flow), rocePort, appendBTH(nil, 4, 7, make([]byte, 924)))
	f := appendIPv6([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd}, 0, hostA, hostB, protoUDP, udp)
	f[14], f[15] = 0x60|byte(dscp>>2), byte(dscp<<6)
	return f
}

// flowFrame4 is the same over IPv4.
func flowFrame4(flow, dscp int) []byte {
	udp := appendUDP(nil, uint16(flow), rocePort, appendBTH(nil, 4, 7, make([]byte, 944)))
	f := appendIPv4([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}, [4]byte{10, 1, 0, 1}, [4]byte{10, 2, 0, 1}, nil, 0, udp)
	f[15], f[24], f[25] = byte(dscp<<2), 0, 0
	binary.BigEndian.PutUint16(f[24:], ^onesSum(f[14:34]))
	return f
}

func (l *line) send(n int, frame []byte) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		before := l.refused()
		for range n {
			l.wire.send(l.in, frame)
		}
		if n = l.refused() - before; n == 0 {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("the switch has no room for %d frames", n)
		}
	}
}

// refused are the frames that the machine had no room for on the way into the switch:
// its ring is short, and who reads it may wait for a CPU.
func (l *line) refused() int {
	l.t.Helper()
	text, err := os.ReadFile("/proc/thread-self/net/dev")
	if err != nil {
		l.t.Fatal(err)
	}
	_, counters, _ := strings.Cut(string(text), "source:")
	const sentDropped = 11
	words := strings.Fields(counters)
	if len(words) <= sentDropped {
		l.t.Fatalf("no counters of the netdev source: %s", text)
	}
	n, err := strconv.Atoi(words[sentDropped])
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// arrivals are the frames that left the router, of these n or until none comes any more.
func (l *line) arrivals(n int) (frames [][]byte) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); len(frames) < n; {
		if time.Now().After(deadline) {
			l.t.Fatalf("%d of %d frames arrived", len(frames), n)
		}
		if _, frame, ok := l.wire.receive(); ok && isRoCE(frame) {
			frames = append(frames, frame)
		}
	}
	return frames
}

func flowOf(frame []byte) int { return int(binary.BigEndian.Uint16(frame[udpAt(frame):])) }

// flows are the flows of n frames in the order in which they left.
func (l *line) flows(n int) (flows []int) {
	l.t.Helper()
	for _, frame := range l.arrivals(n) {
		flows = append(flows, flowOf(frame))
	}
	return flows
}

// pairs waits for n packets, and returns their destination queue pairs.
func (l *line) pairs(n int) (all []int) {
	l.t.Helper()
	for _, f := range l.arrivals(n) {
		all = append(all, int(binary.BigEndian.Uint32(f[udpAt(f)+udpLen+4:])&0xffffff))
	}
	return all
}

// queueID is the object of a queue of a netdev.
func queueID(t testing.TB, port string, queue int) string {
	t.Helper()
	return fmt.Sprintf("%#x", 21<<48|ifindex(t, port)<<8|queue)
}

// queueStats are statistics of a queue of the port out.
func (d *driver) queueStats(queue int) (packets, bytes, dropped, occupancy int) {
	d.t.Helper()
	words := d.do("stat queue %s PACKETS BYTES DROPPED_PACKETS CURR_OCCUPANCY_BYTES", queueID(d.t, "out", queue))
	var n [4]int
	for i, word := range words {
		var err error
		if n[i], err = strconv.Atoi(word); err != nil {
			d.t.Fatal(err)
		}
	}
	return n[0], n[1], n[2], n[3]
}

// wantQueue checks how many frames left a queue and how many found it full.
func wantQueue(t *testing.T, d *driver, queue, packets, dropped int) {
	t.Helper()
	p, b, dr, o := d.queueStats(queue)
	if p != packets || b != packets*queueFrame || dr != dropped || o != 0 {
		t.Errorf("queue %d: %d packets, %d octets, %d dropped, %d octets in it; want %d, %d, %d, 0",
			queue, p, b, dr, o, packets, packets*queueFrame, dropped)
	}
}

// backlog is what netlink says of a queue of the port out, in octets.
func backlog(t *testing.T, queue int) int {
	t.Helper()
	// The unit is b up to some thousands, and Kb above.
	out := tc(t, "-s", "class", "show", "dev", "out", "classid", fmt.Sprintf("51c0:%x", 0x10+queue))
	m := regexp.MustCompile(`backlog (\d+)(K?)b`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no backlog in:\n%s", out)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	if m[2] != "" {
		n *= 1000
	}
	return n
}

// A packet goes into the queue of its DSCP, and statistics agree with netlink's and
// with what arrived.
func TestQueueStatistics(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues)
	for _, port := range []string{"in", "out"} {
		ids := d.do("get port %s %s", portID(t, port), queueList)
		if len(ids) != 8 || ids[3] != queueID(t, port, 3) {
			t.Errorf("queues of %s: %v", port, ids)
		}
		if n := d.number("get port %s QOS_NUMBER_OF_QUEUES", portID(t, port)); n != 8 {
			t.Errorf("%d queues of %s, want 8", n, port)
		}
	}
	queue := queueID(t, "out", 3)
	if kind, port, index := d.do("get queue %s TYPE", queue)[0], d.do("get queue %s PORT", queue)[0], d.do("get queue %s INDEX", queue)[0]; kind != "1" || port != portID(t, "out") || index != "3" {
		t.Errorf("queue has type %s, port %s, index %s", kind, port, index)
	}

	sent := 0
	for deadline := time.Now().Add(patience); ; {
		l.send(20, flowFrame(1, 26))
		l.send(10, flowFrame(2, 46))
		l.send(10, flowFrame4(3, 40))
		sent += 20
		// It drains meanwhile: what SAI says lies between what netlink says before and after.
		before := backlog(t, 3)
		_, _, _, octets := d.queueStats(3)
		if after := backlog(t, 3); octets > before+1000 || octets < after-1000 {
			t.Errorf("%d octets in the queue, netlink says %d and then %d", octets, before, after)
		}
		if octets%queueFrame != 0 {
			t.Errorf("%d octets in the queue, want some frames of %d", octets, queueFrame)
		}
		l.arrivals(40)
		if octets > 0 { // else the machine was so busy that all had left
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("frames could not be sent as fast as 125000 octets a second")
		}
	}
	wantQueue(t, d, 3, sent, 0)
	wantQueue(t, d, 5, sent, 0)
	if out := tc(t, "-s", "class", "show", "dev", "out", "classid", "51c0:13"); !strings.Contains(out, fmt.Sprintf("Sent %d bytes %d pkt", sent*queueFrame, sent)) {
		t.Errorf("netlink says:\n%s", out)
	}

	d.do("clear %s PACKETS BYTES", queue)
	wantQueue(t, d, 3, 0, 0)
	l.send(2, flowFrame(1, 26))
	l.arrivals(2)
	wantQueue(t, d, 3, 2, 0)
	d.kill() // what was cleared is remembered
	d = startDriver(t)
	d.do(withQueues)
	wantQueue(t, d, 3, 2, 0)
	if status, _ := d.try("stat queue %s WATERMARK_BYTES", queue); status != statusNotSupported {
		t.Errorf("a watermark, which the kernel does not keep: status %d, want %d", status, statusNotSupported)
	}
}

// A queue holds as many octets as the profile says; what is above is dropped, and
// counted, and no other queue suffers.
func TestQueueOverflow(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues+"SLUICE_QUEUE_BYTES=%d", 10*queueFrame+1)
	l.send(5, flowFrame(2, 46))
	sent, dropped := 0, 0
	for deadline := time.Now().Add(patience); ; {
		p, _, dr, octets := d.queueStats(3)
		if dropped = dr; octets == 0 && p+dr == sent && dropped > 0 {
			break
		}
		if dropped == 0 {
			l.send(50, flowFrame(1, 26))
			sent += 50
		}
		if octets > 10*queueFrame {
			t.Fatalf("%d octets in a queue of %d", octets, 10*queueFrame)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d packets left, %d dropped of %d", p, dr, sent)
		}
	}
	if count := counts(l.flows(sent + 5 - dropped)); count[1] != sent-dropped || count[2] != 5 {
		t.Errorf("arrived %v of %d, and %d were dropped", count, sent, dropped)
	}
	wantQueue(t, d, 3, sent-dropped, dropped)
	wantQueue(t, d, 5, 5, 0)
}

// A hold that only counts has the packets of its flow that found the queue full, and of no other.
func TestCountingHoldHasWhatFoundTheQueueFull(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues+"SLUICE_QUEUE_BYTES=%d", 10*queueFrame+1)
	out, counted := portID(t, "out"), match(holdSession, 7, hostA, hostB)
	d.setMarks(3, 5*queueFrame, 2*queueFrame)
	d.hold(out, counted, time.Minute, rateCount)
	sent, lost, left := 0, 0, 0 // left: while others were sent
	// The queue counts the drops of both flows, and what arrives is of each one.
	until(t, "the queue has dropped packets of both flows, and is empty", func() bool {
		if _, _, _, octets := d.queueStats(3); octets > 0 {
			return false
		}
		if lost > 0 {
			return true
		}
		before, _, _, _ := d.queueStats(3)
		for range 30 {
			l.send(1, labelled(1, 7, 26))
			l.send(1, labelled(2, 8, 26))
			sent++
		}
		var after int
		after, _, lost, _ = d.queueStats(3)
		left += after - before
		return false
	})
	_, _, lost, _ = d.queueStats(3)
	arrived := counts(l.pairs(2*sent - lost))
	s, _ := d.getHold(out, counted)
	// One that finds the queue full is counted before it waits for the queue's lock: who has that may be making room.
	dropped, want := int(s.dropped), sent-arrived[7]
	if arrived[8] == sent || dropped < want || dropped > want+left || int(s.packets) != sent {
		t.Errorf("%d of %d and %d of %d arrived, %d left meanwhile, the hold of the first has %+v", arrived[7], sent, arrived[8], sent, left, s)
	}
}

// SET_TC moves the packets that an entry matches into the class' queue, and only these;
// a DSCP that an entry sets moves none.
func TestSetTC(t *testing.T) {
	for _, test := range []struct {
		name  string
		frame func(flow, dscp int) []byte
		hash  string
	}{
		{"IPv6", flowFrame, ""},
		{"IPv4", flowFrame4, ""}, // whose priority the kernel sets by the TOS
		{"IPv6 with the next hop chosen by the queue pair", flowFrame, withQP},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLine(t)
			d := startDriver(t)
			d.do(withQueues)
			if test.hash != "" {
				d.do("set hash %s %s=%s", defaultHash, hashList, test.hash)
			}
			table := d.id("create table ACL_STAGE=INGRESS FIELD_L4_SRC_PORT=1 FIELD_L4_DST_PORT=1")
			d.do("set port %s INGRESS_ACL=%s", portID(t, "in"), table)
			entry := d.id("create entry TABLE_ID=%s FIELD_L4_SRC_PORT=2 %s=6", table, setTC)
			d.do("create entry TABLE_ID=%s FIELD_L4_SRC_PORT=4 %s=50", table, setDSCP)
			for flow := range 6 {
				l.send(3, test.frame(flow, 26))
			}
			for _, frame := range l.arrivals(18) {
				dscp := 26
				if flowOf(frame) == 4 {
					dscp = 50
				}
				want := test.frame(flowOf(frame), dscp)
				wantForwarded(t, want, frame, false)
			}
			wantQueue(t, d, 3, 15, 0)
			wantQueue(t, d, 6, 3, 0)
			d.do("set entry %s %s=1", entry, setTC)
			l.send(3, test.frame(2, 26))
			l.arrivals(3)
			wantQueue(t, d, 1, 3, 0)
			if status, _ := d.try("create entry TABLE_ID=%s %s=8", table, setTC); status != statusInvalidAttrValue0-1 {
				t.Errorf("class 8: status %d", status)
			}
		})
	}
}

// contend fills queue 7, which goes first, and after it those of the frames, so that
// these leave by no other rule than their schedulers'. It returns the flows in the order
// in which they left.
func (l *line) contend(d *driver, n int, frames ...[]byte) []int {
	l.t.Helper()
	strict := d.id("create scheduler SCHEDULING_TYPE=STRICT")
	d.do("set queue %s %s=%s", queueID(l.t, "out", 7), queueScheduler, strict)
	const blocking, blocker = 60, 7000
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		l.send(blocking, flowFrame(blocker, 56))
		for range n {
			for _, frame := range frames {
				l.send(1, frame)
			}
		}
		_, _, _, octets := d.queueStats(7)
		flows := l.flows(blocking + n*len(frames))
		if octets > 0 { // else the machine was so busy that the frames came late
			return slices.DeleteFunc(flows, func(flow int) bool { return flow == blocker })
		}
	}
	l.t.Fatal("frames could not be sent as fast as 125000 octets a second")
	return nil
}

func counts(flows []int) map[int]int {
	n := map[int]int{}
	for _, flow := range flows {
		n[flow]++
	}
	return n
}

// Strict queues go first, the higher one before the lower one.
func TestSchedulerStrict(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues)
	strict := d.id("create scheduler SCHEDULING_TYPE=STRICT")
	for _, queue := range []int{2, 4} {
		d.do("set queue %s %s=%s", queueID(t, "out", queue), queueScheduler, strict)
	}
	const n = 20
	flows := l.contend(d, n, flowFrame(5, 40), flowFrame(2, 16), flowFrame(4, 32))
	// HTB gives each queue a packet now and then whatever its priority.
	if first := counts(flows[:n]); first[4] < n-4 {
		t.Errorf("the first %d frames are %v, want those of queue 4", n, first)
	}
	if last := counts(flows[2*n:]); last[5] < n-4 {
		t.Errorf("the last %d frames are %v, want those of queue 5", n, last)
	}
	if status, _ := d.try("remove scheduler %s", strict); status != statusObjectInUse {
		t.Errorf("a scheduler in use: status %d, want %d", status, statusObjectInUse)
	}
	for _, queue := range []int{2, 4} {
		d.do("set queue %s %s=0", queueID(t, "out", queue), queueScheduler)
	}
	d.do("remove scheduler %s", strict)
}

// The others share by weight.
func TestSchedulerWeight(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues)
	weight := d.id("create scheduler SCHEDULING_TYPE=WRR SCHEDULING_WEIGHT=2")
	d.do("set queue %s %s=%s", queueID(t, "out", 1), queueScheduler, weight)
	d.do("set scheduler %s SCHEDULING_WEIGHT=3", weight)
	const n = 60
	flows := l.contend(d, n, flowFrame(1, 8), flowFrame(2, 16))
	if first := counts(flows[:n]); first[1] < n*3/4-6 || first[1] > n*3/4+6 {
		t.Errorf("of the first %d frames %v left, want 3 of queue 1 for 1 of queue 2", n, first)
	}
}

// A rate of a scheduler limits its queue, and leaves the rest to the others; when it
// ends, the queue goes on at once.
func TestSchedulerRate(t *testing.T) {
	const rate = 125000
	l := newLine(t)
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=8")
	slow := d.id("create scheduler MAX_BANDWIDTH_RATE=%d", rate)
	d.do("set queue %s %s=%s", queueID(t, "out", 1), queueScheduler, slow)
	const n = 50
	const least = (n - 5) * queueFrame * time.Second / rate
	for deadline := time.Now().Add(patience); ; {
		begin := time.Now()
		for range n {
			l.send(1, flowFrame(1, 8))
			l.send(1, flowFrame(2, 16))
		}
		sending := time.Since(begin)
		flows := l.flows(2 * n)
		if took := time.Since(begin); took < least {
			t.Errorf("%d frames in %v: faster than %d octets a second", n, took, rate)
		}
		if sending < least/2 { // the others' frames had time to leave
			if last := counts(flows[2*n-10:]); last[1] != 10 {
				t.Errorf("the last 10 frames are %v, want those of the limited queue", last)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("frames could not be sent in %v", least/2)
		}
	}
	l.send(n, flowFrame(1, 8))
	d.do("set scheduler %s MAX_BANDWIDTH_RATE=0", slow)
	l.arrivals(n)
	for _, test := range []struct {
		attribute string
		want      int
	}{{"MAX_BANDWIDTH_RATE=124999", statusInvalidAttrValue0}, {"SCHEDULING_WEIGHT=0", statusInvalidAttrValue0}, {"SCHEDULING_WEIGHT=101", statusInvalidAttrValue0}, {"SCHEDULING_TYPE=7", statusInvalidAttrValue0}, {"METER_TYPE=PACKETS", statusInvalidAttrValue0}, {"MIN_BANDWIDTH_RATE=1", statusAttrNotSupported0}} {
		if status, _ := d.try("set scheduler %s %s", slow, test.attribute); status != test.want {
			t.Errorf("set %s: status %d, want %d", test.attribute, status, test.want)
		}
	}
}

// After kill -9 queues go on, and the next process finds them with what is in them.
func TestQueuesOutliveTheProcess(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues)
	strict := d.id("create scheduler SCHEDULING_TYPE=STRICT")
	d.do("set queue %s %s=%s", queueID(t, "out", 3), queueScheduler, strict)
	before := tc(t, "qdisc", "show") + tc(t, "class", "show", "dev", "out")
	sent := 50
	l.send(sent, flowFrame(1, 26))
	d.kill()
	for deadline := time.Now().Add(patience); backlog(t, 3) < 50*queueFrame; sent += 50 {
		l.send(50, flowFrame(1, 26))
		if time.Now().After(deadline) {
			t.Fatal("frames could not be sent as fast as 125000 octets a second")
		}
	}

	d = startDriver(t)
	d.do(withQueues)
	if after := tc(t, "qdisc", "show") + tc(t, "class", "show", "dev", "out"); after != before {
		t.Errorf("queues were\n%sand are\n%s", before, after)
	}
	if got := d.do("get queue %s %s", queueID(t, "out", 3), queueScheduler)[0]; got != strict {
		t.Errorf("scheduler %s, want %s", got, strict)
	}
	l.arrivals(sent)
	wantQueue(t, d, 3, sent, 0)
	d.do("remove-switch") // lets go, takes nothing away
	d.stop()
	if after := tc(t, "qdisc", "show") + tc(t, "class", "show", "dev", "out"); after != before {
		t.Errorf("queues were\n%sand are\n%s", before, after)
	}

	// Another rate is taken over in place; without the key they go.
	d = startDriver(t)
	d.do("%s", strings.Replace(withQueues, "RATE=1", "RATE=3", 1))
	if out := tc(t, "class", "show", "dev", "out", "classid", "51c0:1"); !strings.Contains(out, "rate 3Mbit") {
		t.Errorf("the port's class is %s", out)
	}
	d.kill()
	d = startDriver(t)
	d.do("switch SLUICE_PORTS=in+out")
	if out := tc(t, "qdisc", "show"); strings.Contains(out, "htb") {
		t.Errorf("queues that were not asked for:\n%s", out)
	}
	if n := d.number("get port %s QOS_NUMBER_OF_QUEUES", portID(t, "out")); n != 0 {
		t.Errorf("%d queues, want none", n)
	}
	d.do("remove-switch")
}

// What was made is removed where nothing is programmed, and by a cold start; a port
// that is one no longer loses its queues.
func TestQueuesAreRemoved(t *testing.T) {
	newLine(t)
	before := tc(t, "qdisc", "show")
	d := startDriver(t)
	d.do(withQueues)
	tc(t, "qdisc", "del", "dev", "out", "root")
	if status, _ := d.try("stat queue %s PACKETS", queueID(t, "out", 3)); status != statusItemNotFound {
		t.Errorf("a queue that another owner removed: status %d, want %d", status, statusItemNotFound)
	}
	d.do("remove-switch")
	if after := tc(t, "qdisc", "show"); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}
	d.do(withQueues)
	d.do("create scheduler")
	d.kill()
	d = startDriver(t)
	d.do("switch SLUICE_PORTS=in SLUICE_QUEUES=8")
	if out := tc(t, "qdisc", "show", "dev", "out"); strings.Contains(out, "htb") || strings.Contains(out, "clsact") {
		t.Errorf("a port no longer:\n%s", out)
	}
	d.kill()
	d = startDriver(t)
	d.do("switch SLUICE_PORTS=in SLUICE_COLD=1")
	d.do("remove-switch")
	if after := tc(t, "qdisc", "show"); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}
}

// What waits in queues leaves before they are removed.
func TestQueuesEmptyBeforeTheyAreRemoved(t *testing.T) {
	const n = 50 // half a second at 1 Mbit/s
	l := newLine(t)
	before := tc(t, "qdisc", "show", "dev", "out")
	d := startDriver(t)
	d.do(withQueues)
	l.send(n, flowFrame(1, 26))
	d.do("remove-switch")
	if after := tc(t, "qdisc", "show", "dev", "out"); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}
	if count := counts(l.flows(n)); count[1] != n {
		t.Errorf("%d of %d packets arrived", count[1], n)
	}
}

// Another owner's root qdisc stays, and its port has no queues.
func TestForeignQdisc(t *testing.T) {
	newLine(t)
	tc(t, "qdisc", "add", "dev", "out", "root", "handle", "99:", "bfifo", "limit", "5000")
	before := tc(t, "qdisc", "show", "dev", "out")
	d := startDriver(t)
	d.do(withQueues)
	if n := d.number("get port %s QOS_NUMBER_OF_QUEUES", portID(t, "out")); n != 0 {
		t.Errorf("%d queues of a port with a foreign qdisc, want none", n)
	}
	if n := d.number("get port %s QOS_NUMBER_OF_QUEUES", portID(t, "in")); n != 8 {
		t.Errorf("%d queues of the other port, want 8", n)
	}
	d.do("remove-switch")
	d.stop()
	if want := "port out has no queues: it has another owner's root qdisc"; !strings.Contains(d.stderr.String(), want) {
		t.Errorf("stderr %q, want %q in it", d.stderr.String(), want)
	}
	if after := tc(t, "qdisc", "show", "dev", "out"); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}

	// Where no port can have them, there is nothing of them.
	d = startDriver(t)
	d.do("switch SLUICE_PORTS=out SLUICE_QUEUES=8")
	for _, attribute := range []string{"entry " + setTC, "scheduler SCHEDULING_TYPE"} {
		if got := strings.Join(d.do("capability %s", attribute), " "); got != "0 0 0" {
			t.Errorf("capability of %s: %s, want 0 0 0", attribute, got)
		}
	}
	if status, _ := d.try("create scheduler"); status != statusNotSupported {
		t.Errorf("create scheduler: status %d, want %d", status, statusNotSupported)
	}
}

// Without the key there are no queues, and a value that means nothing is refused.
func TestQueueProfile(t *testing.T) {
	newLine(t)
	before := tc(t, "qdisc", "show", "dev", "out")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=in+out")
	after := tc(t, "qdisc", "show", "dev", "out")
	if strings.Contains(after, "htb") || !strings.HasPrefix(after, strings.TrimSpace(before)) {
		t.Errorf("before\n%safter\n%s", before, after)
	}
	if filters := tc(t, "filter", "show", "dev", "out", "egress"); strings.TrimSpace(filters) != "" {
		t.Errorf("egress filters without queues:\n%s", filters)
	}
	d.do("remove-switch")
	d.stop()
	for _, profile := range []string{"SLUICE_QUEUES=4", "SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=fast", "SLUICE_QUEUES=8 SLUICE_QUEUE_BYTES=-1"} {
		d := startDriver(t)
		status, _ := d.try("switch SLUICE_PORTS=in+out %s", profile)
		if status != statusInvalidParameter {
			t.Errorf("%s: status %d, want %d", profile, status, statusInvalidParameter)
		}
		d.stop() // then all is read that it wrote
		if key := regexp.MustCompile(`\w+ is "[^"]+"; `).FindString(d.stderr.String()); !bytes.Contains([]byte(profile), []byte(strings.SplitN(key+" ", " ", 2)[0])) || key == "" {
			t.Errorf("%s: stderr %q", profile, d.stderr.String())
		}
	}
}
