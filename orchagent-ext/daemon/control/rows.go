// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"strings"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// fill sets a leaf of a row by its name.
type fill func(s ygot.GoStruct, leaf, value string)

// notifications are the counters that the rows of SLUICE_NOTIFY_STATS are made of.
type notifications struct {
	report *flowcontrol.Report

	// bad returns how many messages of a kind the transport refused for a reason, dropped how
	// many of those that it could parse it dropped.
	bad     func(notify.Kind, notify.Reason) uint64
	dropped func(notify.Kind, packetio.Dropped) uint64
	policed func(notify.Kind) uint64 // in the kernel, beyond the rate of a port or a source
	full    uint64                   // found a socket full

	solicited   uint64 // solicitations of routers that were sent
	unmonitored uint64 // packets of flows beyond the room that the switch has to watch
	// packets of held flows that found the hold queue full, were lost in it, or waited there while sluiced was frozen
	queueFull, queueLost, queueStale uint64
	// packets of held flows that went on, since nothing could be held then
	queuePassed uint64
}

// rows returns one row for each kind of message.
func (n *notifications) rows(set fill) []ygot.GoStruct {
	c := &n.report.Counters
	pfcm := &telemetry.NotifyStats{
		Sent: &c.Sent, SendFailed: &c.SendFailed, Obeyed: &c.Obeyed, Held: &c.Held, Refreshed: &c.Refreshed,
		Full: &c.Full, Ignored: &c.Ignored, Watchdog: &c.Watchdog, Unverified: &c.Unverified, HoldFailed: &c.HoldFailed, Unmeasured: &c.Unmeasured,
		NoNeighbor: &c.NoNeighbor, Host: &c.Host, Ipv4: &c.IPv4, Relabelled: &c.Relabelled, Unreadable: &c.Unreadable, QpUnknown: telemetry.Count(0),
		TxPoliced: &c.TxPoliced, Events: &c.Events, EventsLost: &c.EventsLost, Unmonitored: &n.unmonitored,
		FlowsFull: &c.FlowsFull, ReadFailed: &c.ReadFailed, HoldQueueFull: &n.queueFull, HoldQueueLost: &n.queueLost, HoldQueueStale: &n.queueStale, HoldQueuePassed: &n.queuePassed, Solicited: &n.solicited,
		DroppedPoliced: &c.Policed, DroppedLate: &c.Late, DroppedUnknownStream: &c.UnknownStream, DroppedOff: &c.Off, DroppedFull: &n.full,
	}
	n.received(set, pfcm, notify.KindPFCM, c.Received, c.Sender, c.RefusedFor)
	times(set, pfcm, map[string]*histogram.Fine{"reaction": &n.report.Reaction, "enforce": &n.report.Enforce, "release_error": &n.report.Release})
	ppfc := &telemetry.NotifyStats{
		Sent: &c.PPFCSent, SendFailed: &c.PPFCFailed, TxPoliced: &c.PPFCPoliced, NoGateway: &c.NoGateway, NoRouterId: &c.NoRouterID, Obeyed: &c.PPFCObeyed, Watchdog: &c.PPFCWatchdog, Unverified: &c.PPFCUnverified,
		Held: &c.PPFCOutcome[enforce.Held], Refreshed: &c.PPFCOutcome[enforce.Refreshed], Full: &c.PPFCOutcome[enforce.Full], Ignored: &c.PPFCOutcome[enforce.Ignored],
		QpUnknown: &c.ClientQPUnknown, DroppedPoliced: &c.PPFCReceivePoliced, DroppedLate: &c.PPFCLate, DroppedOff: &c.PPFCOff, DroppedNotServed: &c.PPFCNotServed, DroppedUnknownStream: &c.PPFCUnknown,
	}
	n.received(set, ppfc, notify.KindPPFC, c.PPFCReceived, c.PPFCSender, func(r notify.Reason) uint64 { return c.PPFCRefused[r] })
	times(set, ppfc, map[string]*histogram.Fine{"reaction": &n.report.PPFCReaction, "enforce": &n.report.PPFCEnforce})
	advice := &telemetry.NotifyStats{
		Sent: &c.AdviceSent, SendFailed: &c.AdviceFailed, NotAllowed: &c.AdviceNotAllowed, QpUnknown: &c.AdviceQPUnknown, Full: &c.LimitedFull, NoRouterId: &c.AdviceNoRouterID, NotFollowing: &c.AdviceNotFollowing, TxPoliced: &c.AdvicePoliced,
	}
	cnp := &telemetry.NotifyStats{
		Sent: &c.CNPSent, SendFailed: &c.CNPFailed, TxPoliced: &c.CNPPoliced, NotAllowed: &c.CNPNotAllowed, NotFollowing: &c.CNPNotFollowing, FlowsFull: &c.SeenFull,
	}
	pfc := &telemetry.NotifyStats{Sent: &c.PFCSent, SendFailed: &c.PFCFailed, NotTranslated: &c.NotTranslated, Budget: &c.PFCBudget}
	var all []ygot.GoStruct
	for kind, row := range map[notify.Kind]*telemetry.NotifyStats{
		notify.KindPFCM: pfcm, notify.KindPPFC: ppfc, notify.KindRateAdvice: advice, notify.KindCNP: cnp, notify.KindPFC: pfc,
	} {
		rows.SetEnum(&row.Message, kind.String())
		all = append(all, row)
	}
	return all
}

// received adds the messages that were received and refused: by the task, and by the transport.
func (n *notifications) received(set fill, row *telemetry.NotifyStats, k notify.Kind, fast, sender uint64, refused func(notify.Reason) uint64) {
	other, unmarked := n.dropped(k, packetio.DroppedSender), n.dropped(k, packetio.DroppedMark)
	policed := n.policed(k)
	total := fast + other + unmarked + policed
	row.DroppedPoliced = telemetry.Count(*row.DroppedPoliced + policed)
	row.DroppedSender, row.DroppedUnmarked = telemetry.Count(sender+other), &unmarked
	for r := notify.Short; r <= notify.BadSource; r++ {
		v := n.bad(k, r)
		set(row, "dropped_"+strings.ReplaceAll(r.Label(), "-", "_"), fmt.Sprint(v+refused(r)))
		total += v
	}
	row.Received = &total
}

// times adds measured times, in µs; the histograms have them in ns.
func times(set fill, row *telemetry.NotifyStats, measured map[string]*histogram.Fine) {
	for name, h := range measured {
		set(row, name+"_us_n", fmt.Sprint(h.Count))
		for suffix, d := range map[string]uint64{"p50": h.UpperQuantile(.5), "p99": h.UpperQuantile(.99), "p999": h.UpperQuantile(.999), "max": h.Max} {
			set(row, name+"_us_"+suffix, fmt.Sprintf("%.1f", float64(d)/1e3))
		}
	}
}

// holdCount is the sum of the counters of a hold on all its ports; nil before the first.
type holdCount struct{ octets, packets, waiting, dropped *uint64 }

// add adds the counters of a hold on one port. An error leaves the sum as it is: the hold is
// over there.
func (c *holdCount) add(s sai.HoldState, err error) {
	if err != nil {
		return
	}
	for to, n := range map[**uint64]uint64{&c.octets: s.Octets, &c.packets: s.Packets, &c.waiting: s.WaitingOctets, &c.dropped: s.DroppedPackets} {
		if *to != nil {
			n += **to
		}
		*to = &n
	}
}

// holdRow returns a row of SLUICE_HOLD. port is the one by which the flow leaves, and the message
// came in.
func holdRow(h *flowcontrol.Hold, port string, since, until time.Time, did holdCount) *telemetry.Hold {
	key := fmt.Sprintf("%s,%s,%s,%s,%#04x,%d", h.From, port, h.Source, h.Destination, h.Stream, h.Queue)
	why := fmt.Sprintf("queue %d of the neighbor %s is congested by it", h.Queue, h.From)
	row := &telemetry.Hold{
		Id: &key, From: telemetry.Text(h.From.WithZone("").String()), Port: &port, Queue: &h.Queue, StreamId: &h.Stream, Method: telemetry.Text(string(engine.Exact)),
		Since: telemetry.FineStamp(since), Until: telemetry.FineStamp(until), Refreshes: telemetry.Count(h.Refreshes), Reason: &why,
		Octets: did.octets, Packets: did.packets, WaitingBytes: did.waiting, Dropped: did.dropped,
	}
	rows.SetEnum(&row.Message, h.Kind.String())
	if h.Kind == notify.KindPPFC {
		key = fmt.Sprintf("%s,%s,%s,%s,%d", h.From, h.Source, h.Destination, flowOf(h.Match), h.Queue)
		why = fmt.Sprintf("the node %s is congested by it", h.From)
		row.StreamId = nil
	}
	state, action := "held", "pause"
	switch {
	case h.Ignored:
		state = "ignored"
		why = fmt.Sprintf("the neighbor %s held it for too long without an end", h.From)
	case h.Measuring:
		state = "measuring"
	}
	if h.Keep > 0 {
		reduction := uint8(100 - h.Keep)
		action, row.Reduction = "reduce", &reduction
		if h.Rate > 0 {
			row.RateMbps = telemetry.Count(h.Rate / 1e6)
		}
	}
	rows.SetEnum(&row.State, state)
	rows.SetEnum(&row.Action, action)
	if h.Source.IsValid() {
		row.Src, row.Dst = telemetry.Text(h.Source.String()), telemetry.Text(h.Destination.String())
	}
	return row
}

// flowOf returns the part of a key that distinguishes the flows between two hosts: the destination
// queue pair, IP protocol and ports of a connection, or all.
func flowOf(m sai.HoldMatch) string {
	switch m.Kind {
	case sai.HoldTuple:
		return fmt.Sprintf("%d:%d:%d", m.Protocol, m.Value>>16, m.Value&0xffff)
	case sai.HoldPair:
		return "all"
	}
	return fmt.Sprintf("%#06x", m.Value)
}

// knowledge is how a flow is known to be in a queue.
type knowledge struct {
	method     string
	confidence uint8 // percent
}

// congested adds the state of a congested flow to its row of SLUICE_FLOW.
func congested(f *flowcontrol.CongestedFlow, since time.Time, by knowledge, row *telemetry.Flow) {
	exact := by.method == string(engine.Exact)
	rows.SetEnum(&row.Method, by.method)
	if by.method != "cnp" {
		row.ConfidencePercent = &by.confidence
	}
	row.Src, row.Dst, row.DestQp, row.FlowLabel = telemetry.Text(f.Source.String()), telemetry.Text(f.Destination.String()), &f.DestQP, &f.Label
	row.Queue, row.QueueBytes, row.Exact = &f.Number, &f.Octets, &exact
	row.EgressPort, row.Since = &f.Port, telemetry.FineStamp(since)
	state := "normal"
	if f.Congested {
		state = "congested"
	}
	rows.SetEnum(&row.State, state)
	if f.Stream != 0 {
		row.StreamId = &f.Stream
	}
	if f.In != "" {
		row.IngressPort = &f.In
	}
	if f.Advised != 0 {
		row.AdvisedMbps, row.NotFollowing = &f.Advised, &f.Exceeds
	}
	if f.Requested {
		row.NotifiedNeighbor = telemetry.Text(f.To.String())
	}
}
