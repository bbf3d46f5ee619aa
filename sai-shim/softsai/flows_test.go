// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Attributes of sai_sluice_ext.h.
const (
	attrExtension  = "SLUICE_EXTENSION" // of the switch
	attrFlowKey    = "FLOW_KEY"
	attrStreamSeed = "STREAM_SEED"
	attrHigh       = "FLOW_MONITOR_HIGH" // of a queue
	attrLow        = "FLOW_MONITOR_LOW"

	keyFiveTuple = 1

	markLow, markAlarm, markHigh = 0, 1, 2
)

// magic is the upper half of what the handshake answers.
const magic = 0x534c5549

// audits is the flag of the handshake for the calls that audit what is there (sai_sluice_ext.h).
const audits = 0x1000000

// flowEvent is what the event function got.
type flowEvent struct {
	queue, port, flow string
	octets, mark      int
	arrival           string // SRC>DST,LABEL,CLASS; "-": not known
	session           string // SRC>DST,PROTOCOL,SPORT,DPORT and for RoCEv2 DESTQP,SRCQP,PKEY,OCTET
	head              []byte
}

// events waits until n events came, and returns all that did.
func (d *driver) events(n int) (all []flowEvent) {
	d.t.Helper()
	for _, word := range d.do("events %d", n) {
		parts := strings.Split(word, "|")
		var numbers [2]int
		for i := range numbers {
			var err error
			if numbers[i], err = strconv.Atoi(parts[3+i]); err != nil {
				d.t.Fatal(err)
			}
		}
		head, err := hex.DecodeString(parts[7])
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, flowEvent{parts[0], parts[1], parts[2], numbers[0], numbers[1], parts[5], parts[6], head})
	}
	return all
}

// setMarks sets the marks of a queue of the port out.
func (d *driver) setMarks(queue, high, low int) {
	d.t.Helper()
	id := queueID(d.t, "out", queue)
	d.do("set queue %s %s=0", id, attrLow)
	d.do("set queue %s %s=%d", id, attrHigh, high)
	d.do("set queue %s %s=%d", id, attrLow, low)
}

// flowOctets are the octets of each flow in a queue of the port out.
func (d *driver) flowOctets(queue int) map[string]int {
	d.t.Helper()
	all := map[string]int{}
	for _, word := range d.do("flows %s", queueID(d.t, "out", queue)) {
		flow, text, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(text)
		if err != nil {
			d.t.Fatal(err)
		}
		all[flow] = n
	}
	return all
}

func sum(flows map[string]int) (all int) {
	for _, octets := range flows {
		all += octets
	}
	return all
}

// flowStats are the counters of get_flow_stats.
type flowStats struct{ events, lost, unmonitored, held, full, lostInQueues, stale, passed int }

func (d *driver) flowStats() flowStats {
	d.t.Helper()
	var n [8]int
	for i, word := range d.do("flow-stats") {
		var err error
		if n[i], err = strconv.Atoi(word); err != nil {
			d.t.Fatal(err)
		}
	}
	return flowStats{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]}
}

// until polls until done says so.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("in vain: ", what)
		}
	}
}

// labelled is a frame of a flow that its label and DestQP name.
func labelled(label, qp, dscp int) []byte {
	udp := appendUDP(nil, 49152, rocePort, appendBTH(nil, 4, uint32(qp), make([]byte, 924)))
	f := appendIPv6([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd}, uint32(label), hostA, hostB, protoUDP, udp)
	f[14] |= byte(dscp >> 2)
	f[15] |= byte(dscp << 6)
	return f
}

// The switch answers the handshake of the extension: with what it has, and not where
// the profile hides it.
func TestHandshakeReportsTheExtensionThatTheProfileShows(t *testing.T) {
	for _, tt := range []struct {
		profile string
		version uint32 // 0: no answer
	}{
		{"SLUICE_PORTS=in", 1},
		{"SLUICE_PORTS=in SLUICE_QUEUES=8", 3},
		{"SLUICE_PORTS=in SLUICE_QUEUES=8 SLUICE_HIDE=flows", 1},
		{"SLUICE_PORTS=in SLUICE_QUEUES=8 SLUICE_HIDE=extension", 0},
	} {
		t.Run(tt.profile, func(t *testing.T) {
			enterNamespace(t)
			link(t, "in", "source")
			d := startDriver(t)
			id := d.id("switch %s", tt.profile)
			status, words := d.try("get switch %s %s", id, attrExtension)
			if tt.version == 0 {
				if status != statusAttrNotSupported0 {
					t.Errorf("status %d of what is hidden", status)
				}
				return
			}
			if v, err := strconv.ParseUint(words[0], 0, 64); err != nil || v>>32 != magic || uint32(v) != audits|tt.version {
				t.Errorf("handshake %#x, %v, want version %d, and audits", v, err, tt.version)
			}
			status, _ = d.try("flow-stats")
			if status == 0 != (tt.version == 3) {
				t.Errorf("status %d of the API", status)
			}
		})
	}
}

// A flow that passes its marks in a queue raises events on the way up and down, with
// the packet and the port that it came in by; other flows of the queue do not count.
func TestFlowPassesMarks(t *testing.T) {
	six := fmt.Sprintf("%s>%s", netip.AddrFrom16(hostA), netip.AddrFrom16(hostB))
	for name, tt := range map[string]struct {
		frame            func(flow int) []byte
		arrival, session string
	}{
		"IPv6 label":      {func(flow int) []byte { return labelled(flow, 7, 26) }, six + ",0x1,0x68", six + ",17,49152,4791,0x7,0,0xffff,0"},
		"IPv6 queue pair": {func(flow int) []byte { return labelled(5, flow, 26) }, six + ",0x5,0x68", six + ",17,49152,4791,0x1,0,0xffff,0"},
		"IPv4":            {func(flow int) []byte { return flowFrame4(flow, 26) }, "10.1.0.1>10.2.0.1,0,0x68", "10.1.0.1>10.2.0.1,17,1,4791,0x7,0,0xffff,0"},
	} {
		t.Run(name, func(t *testing.T) {
			frame := tt.frame
			l := newLine(t)
			d := startDriver(t)
			d.do(withQueues)
			const high, low = 10 * queueFrame, 4 * queueFrame
			d.setMarks(3, high, low)
			// A busy machine may send so slowly that a flow does not pass its mark.
			var events []flowEvent
			passed := func(e flowEvent) bool { return e.mark == markHigh }
			for deadline := time.Now().Add(patience); len(events) < 3 || !slices.ContainsFunc(events, passed); {
				if time.Now().After(deadline) {
					t.Fatalf("events %+v", events)
				}
				for range 20 {
					l.send(1, frame(1))
				}
				l.send(8, frame(2))
				l.arrivals(28)
				events = append(events, d.events(0)...)
			}
			if e := events[0]; e.mark != markAlarm || e.octets != 9*queueFrame && e.octets != 8*queueFrame+queueFrame {
				t.Errorf("first event %+v", e)
			}
			highs := 0
			for i, e := range events {
				want := flowEvent{queueID(t, "out", 3), portID(t, "in"), events[0].flow, e.octets, e.mark, e.arrival, e.session, e.head}
				if fmt.Sprint(e) != fmt.Sprint(want) {
					t.Errorf("event %d: %+v, want %+v", i, e, want)
				}
				if e.mark == markHigh {
					highs++
				}
				if e.mark == markHigh && e.octets <= high || e.mark == markLow && e.octets >= low {
					t.Errorf("mark %d at %d octets", e.mark, e.octets)
				}
				if e.arrival != tt.arrival && (i == 0 || e.arrival != "-") {
					t.Errorf("event %d: arrival %s, want %s", i, e.arrival, tt.arrival)
				}
				if e.mark != markLow && e.session != tt.session {
					t.Errorf("event %d: session %s, want %s", i, e.session, tt.session)
				}
				if e.mark != markLow {
					sent := frame(1)
					if len(e.head) != 96 || !bytes.Equal(e.head[:7], sent[14:21]) || !bytes.Equal(e.head[20:96], sent[34:110]) {
						t.Errorf("head %x of frame %x", e.head, sent[14:110])
					}
				}
			}
			if last := events[len(events)-1]; last.mark != markLow {
				t.Errorf("%d times high, last %+v", highs, last)
			}
			until(t, "no flow in an empty queue", func() bool { return len(d.flowOctets(3)) == 0 })
			if status, _ := d.try("flow %s %s", queueID(t, "out", 3), events[0].flow); status != statusItemNotFound {
				t.Errorf("status %d of a flow that has nothing in the queue", status)
			}
		})
	}
}

// The octets of all flows of a queue are those of the queue, flow by flow. Another queue goes first:
// nothing leaves this one while its flows are read, on a busy machine too.
func TestFlowOctets(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues)
	d.setMarks(3, 1<<30, 1)
	d.do("set queue %s %s=%s", queueID(t, "out", 7), queueScheduler, d.id("create scheduler SCHEDULING_TYPE=STRICT"))
	round := func() (flows map[string]int, octets int, still bool) {
		const blocking, blocker = 400, 7000 // 3 s
		l.send(blocking, flowFrame(blocker, 56))
		sent := 0
		for flow := range 8 {
			l.send(1+flow, flowFrame(flow, 26)) // one label, one queue pair: one flow
			l.send(1, labelled(1+flow, 7, 26))
			sent += 2 + flow
		}
		before, _, _, _ := d.queueStats(3)
		flows = d.flowOctets(3)
		after, _, _, octets := d.queueStats(3)
		_, _, _, first := d.queueStats(7)
		l.arrivals(blocking + sent)
		return flows, octets, before == after && first > 0
	}
	for void := 0; ; void++ {
		flows, octets, still := round()
		if still && sum(flows) == octets {
			if len(flows) != 1+8 {
				t.Errorf("%d octets of flows %v, %d in their queue", sum(flows), flows, octets)
			}
			break
		}
		if void == 5 { // see TestFlowOctetsUnderLoad
			t.Fatalf("packets left meanwhile (%v), or flows had other octets than their queue, in each of %d rounds; in the last %d of %v, %d in the queue", !still, void, sum(flows), flows, octets)
		}
	}
	if s := d.flowStats(); s.unmonitored != 0 {
		t.Errorf("%+v", s)
	}
}

// While packets come and go the octets of all flows of a queue are those of the queue within
// what came and went between the readings, and a packet a flow.
//
// A kernel may leave the tracepoints' programs out for a while (some sandboxes do, in the
// context of their own processes). Such a round shows: the queue's backlog was another than what was counted,
// or with nothing sent any more the sums still differ. It is void, and ends when the queue is empty.
func TestFlowOctetsUnderLoad(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=50 SLUICE_QUEUE_BYTES=100000000")
	d.setMarks(3, 1<<30, 1)
	const rounds, readings = 12, 8
	worst, span, void := 0, 0, 0
	for valid := 0; valid < rounds; {
		until(t, "an empty queue", func() bool { _, _, _, octets := d.queueStats(3); return octets == 0 })
		missedBefore := missed(t, "out")
		stop := load(t, l)
		until(t, "a backlog", func() bool { _, _, _, octets := d.queueStats(3); return octets > 50*queueFrame })
		var wrong []string
		for range readings {
			r := d.readFlows(3)
			if !r.right() {
				wrong = append(wrong, r.String())
			}
			worst, span = max(worst, r.flows-r.before, r.before-r.flows), max(span, r.came, r.gone)
		}
		stop()
		if r := d.readFlows(3); !r.right() || missed(t, "out") != missedBefore {
			if void++; void > 5*rounds {
				t.Fatalf("in %d rounds of %d calls were left out, or the sums differ with nothing sent any more: %v", void, void+valid, r)
			}
			continue
		}
		if valid++; len(wrong) > 0 {
			t.Errorf("round %d: %s", valid, strings.Join(wrong, "; "))
		}
	}
	t.Logf("at most %d octets apart, while at most %d came or went between two readings; void rounds: %d", worst, span, void)
	if span == 0 {
		t.Error("nothing came or went")
	}
	if s := d.flowStats(); s.unmonitored != 0 {
		t.Errorf("%+v", s)
	}
}

// Flows that the next process finds in a queue that never empties are counted, as soon as
// what waited before has left. Where the kernel left calls out meanwhile
// (see TestFlowOctetsUnderLoad) the process after it is judged.
func TestFlowOctetsWhereTheQueueWaitsAlready(t *testing.T) {
	const profile = "switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=5 SLUICE_QUEUE_BYTES=1000000"
	const processes, readings, full = 10, 50, 900_000
	l := newLine(t)
	d := startDriver(t)
	d.do(profile)
	defer load(t, l)()
	var last flowReading
	for range processes {
		until(t, "a full queue", func() bool { _, _, _, octets := d.queueStats(3); return octets > full })
		d.kill()
		d = startDriver(t)
		d.do(profile)
		left, _, _, waited := d.queueStats(3)
		d.setMarks(3, 1<<30, 1)
		until(t, "what waited left", func() bool { now, _, _, _ := d.queueStats(3); return (now-left)*queueFrame > waited })
		for range readings {
			if last = d.readFlows(3); last.right() && waited > full/2 && last.before > full/2 {
				return
			}
		}
	}
	t.Errorf("%d processes, and the last says: %v", processes, last)
}

// missed returns how often calls were left out at a port so far, since its flows are watched.
func missed(t *testing.T, port string) int {
	t.Helper()
	out, err := exec.Command(program(t, "seed"), port, "missed").Output()
	n, parseErr := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || parseErr != nil {
		t.Fatalf("%q: %v, %v", out, err, parseErr)
	}
	return n
}

const loadFlows = 8

// load sends twice what the port sends, of loadFlows flows, until it is stopped.
func load(t *testing.T, l *line) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	w := openWire(t)
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-ended:
				return
			default:
				w.send(l.in, labelled(1+i%loadFlows, 7, 26))
			}
			if i%64 == 63 {
				time.Sleep(5 * time.Millisecond)
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// flowReading is a reading of all flows between two of their queue, in octets.
type flowReading struct{ flows, before, came, gone int }

func (d *driver) readFlows(queue int) (r flowReading) {
	d.t.Helper()
	left, _, _, before := d.queueStats(queue)
	r.flows, r.before = sum(d.flowOctets(queue)), before
	left2, _, _, after := d.queueStats(queue)
	r.gone = (left2 - left) * queueFrame
	r.came = after - before + r.gone
	return r
}

func (r flowReading) right() bool {
	const each = loadFlows * queueFrame
	return r.flows >= r.before-r.gone-each && r.flows <= r.before+r.came+each
}

func (r flowReading) String() string {
	return fmt.Sprintf("%d octets of flows; the queue had %d, then %d came and %d went", r.flows, r.before, r.came, r.gone)
}

// With the flow key of 5-tuples the label does not distinguish flows, and ports do.
func TestFlowKey(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	id := d.id(withQueues)
	d.setMarks(3, 1<<30, 1)
	const each = 5
	count := func() (n int) {
		until(t, "packets of each flow in the queue when the flows are read", func() bool {
			until(t, "an empty queue", func() bool { return len(d.flowOctets(3)) == 0 })
			for flow := range 4 {
				l.send(each, flowFrame(flow, 26))
			}
			for label := range 3 {
				l.send(each, labelled(10+label, 7, 26))
			}
			flows := d.flowOctets(3)
			n = len(flows)
			l.arrivals(7 * each)
			return sum(flows) > (7*each-each)*queueFrame // else a flow may have left, or is still on its way in
		})
		return n
	}
	if n := count(); n != 4 { // flowFrame has label 0
		t.Errorf("%d flows by label, want 4", n)
	}
	d.do("set switch %s %s=%d", id, attrFlowKey, keyFiveTuple)
	if n := count(); n != 5 { // labelled has one source port
		t.Errorf("%d flows by 5-tuple, want 5", n)
	}
	if status, _ := d.try("set switch %s %s=2", id, attrFlowKey); status > statusInvalidAttrValue0 {
		t.Errorf("status %d of an unknown key", status)
	}
}

// Marks can be changed and taken away, and are there again after kill -9; ones that
// make no sense are refused.
func TestSetMarks(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues)
	passes := func(want bool) {
		t.Helper()
		until(t, "marks are passed", func() bool {
			l.send(40, labelled(1, 7, 26))
			l.arrivals(40)
			events := d.events(0)
			if !want && len(events) > 0 {
				t.Errorf("events %+v", events)
			}
			return len(events) > 0 == want
		})
	}
	passes(false)
	d.do("set queue %s %s=%d", queueID(t, "out", 3), attrHigh, 5*queueFrame) // the low one is half of it
	passes(true)
	until(t, "the flow is below its mark", func() bool { return len(d.flowOctets(3)) == 0 })
	d.do("set queue %s %s=0", queueID(t, "out", 3), attrHigh)
	d.events(0)
	passes(false)
	d.do("set queue %s %s=%d", queueID(t, "out", 3), attrHigh, 10*queueFrame)
	if status, _ := d.try("set queue %s %s=%d", queueID(t, "out", 3), attrLow, 10*queueFrame); status > statusInvalidAttrValue0 {
		t.Errorf("status %d of a low mark that is not below the high one", status)
	}
	passes(true)
	d.kill()

	d = startDriver(t)
	d.do(withQueues)
	if high := d.number("get queue %s %s", queueID(t, "out", 3), attrHigh); high != 10*queueFrame {
		t.Errorf("mark %d, want %d", high, 10*queueFrame)
	}
	passes(true)
}

// A kernel that calls the programs for some packets only, and a ring buffer that loses
// events, leave no flow in an empty queue, and none above a mark that it is below.
func TestMissedCallsLeaveNothingStuck(t *testing.T) {
	library := buildWith(t, "BPF_DEFINES=-DSOFTSAI_DROP_CALLS=10")
	l := newLine(t)
	d := startDriverOf(t, library)
	d.do("switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=10")
	d.setMarks(3, 5*queueFrame, 2*queueFrame)
	mark := map[string]int{} // the last of each flow
	note := func() {
		for _, e := range d.events(0) {
			if e.mark != markAlarm {
				mark[e.flow] = e.mark
			}
		}
	}
	const rounds, flows, each = 10, 5, 20
	for range rounds {
		for range each {
			for flow := range flows {
				l.send(1, labelled(1+flow, 7, 26))
			}
		}
		l.arrivals(flows * each)
		note()
	}
	if len(mark) != flows {
		t.Errorf("marks of %d flows, want %d", len(mark), flows)
	}
	until(t, "no flow in an empty queue", func() bool { return len(d.flowOctets(3)) == 0 })
	until(t, "all flows are low", func() bool {
		note()
		for _, m := range mark {
			if m != markLow {
				return false
			}
		}
		return true
	})
	s := d.flowStats()
	t.Logf("%+v", s)
	if s.lost == 0 {
		t.Error("no event was lost")
	}
}

// A queue that fills asks the flows that fill it, below the flow's own mark: a flow with more octets
// than the queue has room left, and one whose packets the queue refuses.
func TestQueueThatFillsRaisesItsFlows(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	const room = 20
	d.do(withQueues+"SLUICE_QUEUE_BYTES=%d", room*queueFrame)
	d.setMarks(3, 18*queueFrame, queueFrame)
	highs := map[string]int{} // events by label, octets of the last
	note := func() {
		for _, e := range d.events(0) {
			if e.mark == markHigh {
				highs[hex.EncodeToString(e.head[1:4])] = e.octets
			}
		}
	}
	// Three flows of six packets: at first each has less than the queue has left.
	for range 3 {
		for flow := range 3 {
			l.send(1, labelled(1+flow, 7, 26))
		}
	}
	note()
	if len(highs) != 0 {
		t.Fatalf("high with half of the queue left: %v", highs)
	}
	until(t, "all that fill the queue are high", func() bool {
		for flow := range 3 {
			l.send(1, labelled(1+flow, 7, 26))
		}
		note()
		return len(highs) == 3
	})
	// The queue stays full of them; another flow comes, and all that it sends is refused.
	until(t, "a flow is high whose packets are refused", func() bool {
		for flow := range 3 {
			l.send(8, labelled(1+flow, 7, 26))
		}
		l.send(1, labelled(9, 7, 26))
		note()
		return len(highs) == 4
	})
	for flow, octets := range highs {
		if octets >= 18*queueFrame {
			t.Errorf("flow %s is high with %d octets, above its mark", flow, octets)
		}
	}
}

// What an event reports of a packet's arrival is of that packet, or not known: packets that
// wait for their neighbor's address meanwhile, too, while thousands of others come.
func TestArrivalIsOfThePacketItself(t *testing.T) {
	l := newLine(t)
	sysctl(t, "ipv6/neigh/out/mcast_solicit", 1000)
	// Another address than the netdev sink has, which would send the packets on.
	const neighbor = " lladdr 02:00:00:00:00:99 dev out"
	ip(t, "link set out arp on", "neigh replace fe80::1"+neighbor, "route add 2001:db8:3::/48 via fe80::3 dev out")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=10000 SLUICE_QUEUE_BYTES=100000000")
	d.setMarks(3, 2, 1)
	pin(t, 0, cpus(t)[0]) // so that the others come there, too
	const waiting, others = 20, 1000
	for flow := range waiting {
		l.send(1, waitingFrame(flow))
	}
	for flow := range others {
		l.send(1, labelled(1+flow, 7, 0))
	}
	l.arrivals(others)
	ip(t, "neigh replace fe80::3"+neighbor)
	l.arrivals(waiting)
	seen := 0
	// Between them are events of flows that have left the queue again.
	until(t, "all flows pass their mark", func() bool {
		for _, e := range d.events(0) {
			if e.mark != markHigh {
				continue
			}
			seen++
			flow := int(e.head[39])
			want := fmt.Sprintf("%s>2001:db8:3::%x,%#x,0x68", netip.AddrFrom16(hostA), flow, flow)
			if e.arrival != want && e.arrival != "-" {
				t.Errorf("arrival %s, want %s", e.arrival, want)
			}
		}
		return seen == waiting
	})
}

// waitingFrame is a frame of a flow, a number from 0 on, behind a next hop that the router
// does not know yet.
func waitingFrame(flow int) []byte {
	f := labelled(1+flow, 7, 26)
	copy(f[14+24:], netip.MustParseAddr(fmt.Sprintf("2001:db8:3::%x", 1+flow)).AsSlice())
	return f
}
