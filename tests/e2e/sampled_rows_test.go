// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
	"sluice/yang/rows"
)

// rowsBuffer is what the queue of a slow uplink holds, in octets.
const rowsBuffer = 400_000

// slowUplink has an uplink send no faster than sampledEgress, with a queue before it, and returns
// a function that reads the queue's counters as a SAI library counts them.
func slowUplink(t *testing.T, l *leaf, uplink *fabric.Interface) func(queue string) map[string]uint64 {
	t.Helper()
	fabrictest.Check(t, l.Leaf.Do(func() error {
		return netlink.QdiscReplace(&netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: uplink.Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
			Rate:       sampledEgress * 1e6 / 8, Buffer: 10_000, Limit: rowsBuffer,
		})
	}))
	return func(queue string) map[string]uint64 {
		if queue != uplink.Name+":0" {
			return map[string]uint64{"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES": 0, "SAI_QUEUE_STAT_PACKETS": 0, "SAI_QUEUE_STAT_BYTES": 0, "SAI_QUEUE_STAT_DROPPED_PACKETS": 0}
		}
		var all []netlink.Qdisc
		err := l.Leaf.Do(func() (err error) {
			all, err = netlink.QdiscList(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Index: uplink.Index}})
			return err
		})
		for _, q := range all {
			if s := q.Attrs().Statistics; err == nil && q.Attrs().Parent == netlink.HANDLE_ROOT && s != nil && s.Basic != nil && s.Queue != nil {
				return map[string]uint64{
					"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES": uint64(s.Queue.Backlog), "SAI_QUEUE_STAT_DROPPED_PACKETS": uint64(s.Queue.Drops),
					"SAI_QUEUE_STAT_PACKETS": uint64(s.Basic.Packets), "SAI_QUEUE_STAT_BYTES": s.Basic.Bytes,
				}
			}
		}
		return nil // the namespace has gone, at the end of the test
	}
}

// newSampledRows is a leaf of stock SONiC whose only uplink is slow: orchagent and syncd have the
// switch, which polls queues and samples one of four packets.
func newSampledRows(t *testing.T) (*leaf, *orchagenttest.Syncd) {
	t.Helper()
	l := newLeaf(t)
	l.onePath()
	uplink := l.Uplinks[0]
	fabrictest.Check(t, l.Leaf.Route(fabric.HostB4.Masked(), fabric.Hop{Via: spineAddress(0), Out: uplink}))
	databases, err := sonicdb.Load(l.redis.Config, "")
	fabrictest.Check(t, err)
	l.orchagent = orchagenttest.Start(t, databases, orchagenttest.ByName("202305"))
	var queues []string
	for _, p := range []*fabric.Interface{l.LeafA, uplink} {
		for number := range 20 { // as SONiC's virtual switch
			queues = append(queues, fmt.Sprintf("%s:%d", p.Name, number))
		}
	}
	syncd := orchagenttest.StartSyncd(t, databases, queues, slowUplink(t, l, uplink))
	samplePackets(t, l.LeafSpine, sampleSocket(l.memory), 4)
	l.set("SFLOW", "global", "admin_state", "up")
	l.set("SLUICE", "global", "driver", "orchagent", "router_id_v6", "2001:db8:ff::1", "router_id", "192.0.2.1")
	l.set("SLUICE_THRESHOLD", "wan", "high_bytes", fmt.Sprint(sampledHigh), "sampling_rate", "256", "queues@", "0")
	l.set("SLUICE_PORT", l.LeafA.Name, "role", "edge")
	l.set("SLUICE_PORT", uplink.Name, "role", "fabric", "threshold", "wan")
	for _, host := range []string{fabric.HostA.Masked().String(), fabric.HostA4.Masked().String()} {
		l.set("SLUICE_RATE_ADVICE_HOST", host, "NULL", "NULL")
	}
	// The gateway of host A's network is a host there, whose packets the test sees.
	l.set("SLUICE_PPFC_GATEWAY", fabric.HostA.Masked().String(), "gateway", fabric.HostA.Addr().String())
	l.set("SLUICE_PPFC_GATEWAY", fabric.HostA4.Masked().String(), "gateway", fabric.HostA4.Addr().String())
	l.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "destination_qp", "copy")
	l.set("SLUICE_PPFC", "global", "admin_state", "enabled")
	l.sluiced = startSampled(t, l.Leaf, l.log, l.redis.Config, l.memory)
	l.awaitFields("SLUICE_CAPABILITY", "switch", "threshold_method", "sampled", "threshold_state", "active")
	return l, syncd
}

// polled waits until syncd polls so many queues for Sluice.
func polled(l *leaf, syncd *orchagenttest.Syncd, queues string) {
	l.t.Helper()
	l.until("syncd polls "+queues+" queues for Sluice", func() bool { return syncd.Groups()["SLUICE_QUEUE"]["objects"] == queues })
}

// TestSampledByOrchagentNamesTheFlowsThatFillAQueue: on a stock switch, whose syncd polls the
// depth of a queue and whose sFlow samples, Rate Advice and PPFC name the two large flows of the
// queue and none of the small ones; and the rows by which syncd polls end with the configuration.
func TestSampledByOrchagentNamesTheFlowsThatFillAQueue(t *testing.T) {
	for _, four := range []bool{false, true} {
		t.Run(map[bool]string{false: "IPv6", true: "IPv4"}[four], func(t *testing.T) {
			if four {
				soakOnly(t)
			}
			l, syncd := newSampledRows(t)
			polled(l, syncd, "1")
			c, err := l.A.Capture()
			fabrictest.Check(t, err)
			streams := elephantsAndMice(four)
			began := time.Now()
			loads := []*load{l.load(streams[0]), l.load(streams[1]), l.load(streams[2:]...)}
			told := map[string]map[uint32]time.Duration{"Rate Advice": {}, "PPFC": {}}
			l.until("both large flows are named by Rate Advice and PPFC", func() bool {
				for _, f := range notifications(slices.Clone(c.Frames())) {
					var p notify.Packet
					if p.Parse(f.Data, notify.DefaultCodePoints()) != nil {
						continue // host B refuses the packets
					}
					kind, qp := "", uint32(0)
					switch {
					case p.Kind == notify.KindRateAdvice:
						kind, qp = "Rate Advice", p.RateAdvice.DestQP
					case p.Kind == notify.KindPPFC && p.PPFC.PT == notify.Stop:
						kind, qp = "PPFC", p.PPFC.Flow.DstQP
					default:
						continue
					}
					if told[kind][qp] == 0 {
						told[kind][qp] = f.Time.Sub(began)
					}
				}
				return told["Rate Advice"][elephantQP] != 0 && told["Rate Advice"][elephantQP+1] != 0 && told["PPFC"][elephantQP] != 0 && told["PPFC"][elephantQP+1] != 0
			})
			l.awaitFields("SLUICE_FLOW", flowKey(four, elephantQP), "state", "congested", "exact", "false")
			for _, ld := range loads {
				ld.stop.Store(true)
			}
			for _, ld := range loads {
				ld.done.Wait()
			}
			if t.Logf("named after %v", told); len(told["Rate Advice"]) != 2 || len(told["PPFC"]) != 2 {
				t.Errorf("named are %v: want the two large flows alone", told)
			}
			l.set("SLUICE_PPFC", "global", "admin_state", "disabled")
			l.set("SLUICE_RATE_ADVICE", "global", "admin_state", "disabled")
			l.until("no row of FLEX_COUNTER_DB is left", func() bool { return len(syncd.Rows()) == 0 })
		})
	}
}

// elephantsAndMice are two flows of 40 % of what comes, and small ones.
func elephantsAndMice(four bool) (all []*stream) {
	all = []*stream{{qp: elephantQP, label: 1}, {qp: elephantQP + 1, label: 2}}
	for i := range sampledMice {
		all = append(all, &stream{qp: victimQP + 10 + uint32(i), label: uint32(3 + i)})
	}
	for i, s := range all {
		if s.four, s.size, s.mbps = four, 1000, sampledMouse; i < 2 {
			s.mbps = sampledElephant
		}
	}
	return all
}

// TestRowsByWhichSyncdPollsEndWithSluice: after kill -9 the next start goes on with the rows, and where
// queues are named no more it removes them; they come again after swss has started again; a syncd
// that polls no more is named as unproven, and polled less often; and the removal of the package leaves none.
func TestRowsByWhichSyncdPollsEndWithSluice(t *testing.T) {
	t.Parallel()
	l, syncd := newSampledRows(t)
	polled(l, syncd, "1")
	rows := syncd.Rows()
	l.kill()
	l.sluiced = startSampled(t, l.Leaf, l.log, l.redis.Config, l.memory)
	l.awaitFields("SLUICE_CAPABILITY", "switch", "threshold_method", "sampled", "threshold_state", "active")
	if now := syncd.Rows(); !slices.Equal(now, rows) {
		t.Errorf("rows %v, before kill -9 %v", now, rows)
	}
	list := make(chan struct{})
	time.AfterFunc(2*time.Second, func() { close(list) })
	syncd.Restart(list)
	l.until("the rows are those of other objects", func() bool { now := syncd.Rows(); return len(now) == 2 && !slices.Equal(now, rows) })
	polled(l, syncd, "1")

	ld := l.load(elephantsAndMice(false)...)
	l.until("a flow is congested", func() bool { return l.congested() > 0 })
	syncd.Stand(true)
	l.until("counters that stand still are unproven", func() bool {
		f := l.row("SLUICE_CAPABILITY", "switch")
		return f["threshold_state"] == "unproven" && strings.Contains(f["threshold_reason"], "stood still")
	})
	l.until("syncd is asked to poll less often", func() bool {
		interval := syncd.Groups()["SLUICE_QUEUE"]["POLL_INTERVAL"]
		return interval != "" && interval != "10"
	})
	syncd.Stand(false)
	ld.stop.Store(true)
	ld.done.Wait()

	l.kill()
	l.set("SLUICE_THRESHOLD", "wan", "high_bytes", fmt.Sprint(sampledHigh))
	l.sluiced = startSampled(t, l.Leaf, l.log, l.redis.Config, l.memory)
	l.until("no row of FLEX_COUNTER_DB is left", func() bool { return len(syncd.Rows()) == 0 })
	l.set("SLUICE_THRESHOLD", "wan", "high_bytes", fmt.Sprint(sampledHigh), "sampling_rate", "256", "queues@", "0")
	polled(l, syncd, "1")
	l.kill()
	out := l.in(bin+"sluiced", "--db-config", l.redis.Config, "--sai-library", "", "--state-file", l.memory, "--remove")
	l.until("the removal leaves no row: "+out, func() bool { return len(syncd.Rows()) == 0 })
}

// TestStopEndsWhereSyncdPollsNoMore: once counters stand still the stop of a flow that they named ends,
// although the flow goes on; CNPs to its sender are an alarm, and a stop comes once syncd polls again.
func TestStopEndsWhereSyncdPollsNoMore(t *testing.T) {
	t.Parallel()
	l, syncd := newSampledRows(t)
	polled(l, syncd, "1")
	c, err := l.A.Capture()
	fabrictest.Check(t, err)
	// actions returns those of PPFC from a time on, in their order.
	actions := func(from time.Time) (all []notify.PT) {
		for _, f := range notifications(slices.Clone(c.Frames())) {
			var p notify.Packet
			if p.Parse(f.Data, notify.DefaultCodePoints()) == nil && p.Kind == notify.KindPPFC && !f.Time.Before(from) {
				all = append(all, p.PPFC.PT)
			}
		}
		return all
	}
	until := func(pt notify.PT, from time.Time) {
		t.Helper()
		l.until(fmt.Sprintf("PPFC %v arrives", pt), func() bool { return slices.Contains(actions(from), pt) })
	}
	ld := l.load(&stream{qp: elephantQP, label: 1, size: 1000, mbps: 2 * sampledElephant})
	until(notify.Stop, time.Time{})
	marks := l.markedPackets(t)

	began := time.Now()
	syncd.Stand(true)
	l.until("the stop has ended", func() bool { // on a busy machine it may have before: samples came late
		for _, pt := range slices.Backward(actions(time.Time{})) {
			if pt != notify.Alarm {
				return pt == notify.Resume
			}
		}
		return false
	})
	until(notify.Alarm, began)
	l.until("counters that stand still are unproven", func() bool {
		f := l.row("SLUICE_CAPABILITY", "switch")
		return f["threshold_state"] == "unproven" && strings.Contains(f["threshold_reason"], "stood still")
	})
	stood := time.Now() // before it, on a busy machine, samples that come late end a stop which then goes on
	l.until("syncd is asked to poll less often, and again", func() bool {
		return !slices.Contains([]string{"", "10", "20", "40"}, syncd.Groups()["SLUICE_QUEUE"]["POLL_INTERVAL"])
	})
	l.until("the row of the queue counts useless readings", func() bool {
		return l.countOf("readings") > l.countOf("useless") && l.countOf("useless") >= 20 && l.countOf("interval_us") >= 80_000 && l.countOf("age_us") > 80_000
	})
	for _, pt := range actions(stood) {
		if pt == notify.Stop || pt == notify.Hold {
			t.Fatalf("without a depth PPFC are %v, before it was known %v", actions(stood), actions(began))
		}
	}
	marks()
	went := time.Now()
	syncd.Stand(false)
	until(notify.Stop, went)
	ld.stop.Store(true)
	ld.done.Wait()
}

// countOf returns a field of the row about readings of the slow uplink's queue; 0: it has none.
func (l *leaf) countOf(field string) int {
	l.t.Helper()
	all, err := l.countersDB.Get(l.t.Context(), rows.Row{Table: "SLUICE_DEPTH_STATS", Key: l.Uplinks[0].Name + "|0"})
	if fabrictest.Check(l.t, err); len(all) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(all[0].Fields[field])
	return n
}

// markedPackets gives samples of CNPs from host B to a queue pair of host A to sluiced, each 10 ms, until the
// function that it returns is called.
func (l *leaf) markedPackets(t *testing.T) (end func()) {
	t.Helper()
	m, e := notify.CNP{DestQP: ownQP, PKey: 0xffff}, notify.DefaultEnvelope(notify.KindCNP)
	e.Src, e.Dst, e.SrcMAC, e.DstMAC = fabric.HostB.Addr(), fabric.HostA.Addr(), roce.MAC(l.LeafA.MAC), roce.MAC(l.A.MAC)
	frame, err := notify.AppendFrame(nil, &m, &e, notify.DefaultCodePoints())
	fabrictest.Check(t, err)
	out, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	fabrictest.Check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for seq := uint32(0); clock.Sleep(ctx, 10*time.Millisecond); seq++ {
			_ = unix.Sendto(out, psample(l.Uplinks[0].Index, l.LeafA.Index, 1, seq, frame), 0, &unix.SockaddrUnix{Name: sampleSocket(l.memory)})
		}
	})
	end = sync.OnceFunc(func() {
		cancel()
		done.Wait()
		_ = unix.Close(out)
	})
	t.Cleanup(end)
	return end
}
