// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"strings"
	"time"

	"sluice/orchagent-ext/enforce"
	"sluice/orchagent-ext/flowcontrol"
	"sluice/orchagent-ext/notify"
	"sluice/orchagent-ext/packetio"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// Notifications is SLUICE_NOTIFY_STATS:pfcm, :ppfc and :pfc.
type Notifications struct {
	Lane *flowcontrol.Report // nil: PFCM is not enabled

	// Bad is how many messages of a kind were refused for a reason beside the fast
	// lane, Dropped how many that could be read.
	Bad     func(notify.Kind, notify.Reason) uint64
	Dropped func(notify.Kind, packetio.Dropped) uint64
	Full    uint64 // found a socket full

	Solicited          uint64 // routers asked for
	Unmonitored        uint64 // packets of flows that the switch had no room to watch
	LaneFull, LaneLost uint64 // packets of held flows
}

// Rows are the rows.
func (n Notifications) Rows() []rows.Row {
	if n.Lane == nil {
		return nil
	}
	c := &n.Lane.Counters
	pfcm := map[string]uint64{
		"sent": c.Sent, "send_failed": c.SendFailed, "obeyed": c.Obeyed, "held": c.Held, "refreshed": c.Refreshed,
		"full": c.Full, "ignored": c.Ignored, "watchdog": c.Watchdog, "hold_failed": c.HoldFailed,
		"no_neighbor": c.NoNeighbor, "host": c.Host, "ipv4": c.IPv4, "relabelled": c.Relabelled, "unreadable": c.Unreadable, "qp_unknown": 0,
		"tx_policed": c.TxPoliced, "events": c.Events, "events_lost": c.EventsLost, "unmonitored": n.Unmonitored,
		"flows_full": c.FlowsFull, "read_failed": c.ReadFailed, "lane_full": n.LaneFull, "lane_lost": n.LaneLost, "solicited": n.Solicited,
		"dropped_policed": c.Policed, "dropped_unknown_stream": c.UnknownStream, "dropped_off": c.Off, "dropped_full": n.Full,
	}
	n.received(pfcm, notify.KindPFCM, c.Received, c.Sender, c.RefusedFor)
	ppfc := map[string]uint64{
		"sent": c.PPFCSent, "send_failed": c.PPFCFailed, "tx_policed": c.PPFCPoliced, "no_gateway": c.NoGateway, "no_router_id": c.NoRouterID,
		"held": c.PPFCOutcome[enforce.Held], "refreshed": c.PPFCOutcome[enforce.Refreshed], "full": c.PPFCOutcome[enforce.Full], "ignored": c.PPFCOutcome[enforce.Ignored],
		"qp_unknown": c.ClientQPUnknown, "dropped_policed": c.PPFCReceivePoliced, "dropped_off": c.PPFCOff, "dropped_not_served": c.PPFCNotServed,
	}
	for _, o := range []enforce.Outcome{enforce.Told, enforce.Held, enforce.Refreshed, enforce.Ended, enforce.Unknown} {
		ppfc["obeyed"] += c.PPFCOutcome[o]
	}
	n.received(ppfc, notify.KindPPFC, c.PPFCReceived, c.PPFCSender, func(r notify.Reason) uint64 { return c.PPFCRefused[r] })
	rowPFCM, rowPPFC := notifyRow("pfcm", pfcm), notifyRow("ppfc", ppfc)
	times(rowPFCM.Fields, map[string]*flowcontrol.Histogram{"reaction": &n.Lane.Reaction, "enforce": &n.Lane.Enforce, "release_error": &n.Lane.Release})
	times(rowPPFC.Fields, map[string]*flowcontrol.Histogram{"reaction": &n.Lane.PPFCReaction, "enforce": &n.Lane.PPFCEnforce})
	advice := notifyRow("rate-advice", map[string]uint64{
		"sent": c.AdviceSent, "send_failed": c.AdviceFailed, "not_allowed": c.AdviceNotAllowed, "qp_unknown": c.AdviceQPUnknown, "full": c.LimitedFull, "no_router_id": c.AdviceNoRouterID,
	})
	cnp := notifyRow("cnp", map[string]uint64{"sent": c.CNPSent, "send_failed": c.CNPFailed})
	return []rows.Row{rowPFCM, rowPPFC, advice, cnp, notifyRow("pfc", map[string]uint64{
		"sent": c.PFCSent, "send_failed": c.PFCFailed, "not_translated": c.NotTranslated, "budget": c.PFCBudget,
	})}
}

// times adds what was measured, in µs.
func times(fields map[string]string, measured map[string]*flowcontrol.Histogram) {
	for name, h := range measured {
		fields[name+"_us_n"] = fmt.Sprint(h.N)
		for suffix, d := range map[string]time.Duration{"p50": h.Quantile(.5), "p99": h.Quantile(.99), "p999": h.Quantile(.999), "max": h.Max} {
			fields[name+"_us_"+suffix] = fmt.Sprintf("%.1f", float64(d)/1e3)
		}
	}
}

// received adds what came in and what was refused: in the fast lane, and beside it.
func (n Notifications) received(fields map[string]uint64, k notify.Kind, fast, sender uint64, refused func(notify.Reason) uint64) {
	total := fast
	for _, d := range []struct {
		name string
		why  packetio.Dropped
		fast uint64
	}{{"dropped_sender", packetio.DroppedSender, sender}, {"dropped_unmarked", packetio.DroppedMark, 0}} {
		v := n.Dropped(k, d.why)
		fields[d.name] = d.fast + v
		total += v
	}
	for r := notify.Short; r <= notify.BadSource; r++ {
		v := n.Bad(k, r)
		fields["dropped_"+strings.ReplaceAll(r.Label(), "-", "_")] = v + refused(r)
		total += v
	}
	fields["received"] = total
}

func notifyRow(message string, values map[string]uint64) rows.Row {
	fields := make(map[string]string, len(values))
	for name, v := range values {
		fields[name] = fmt.Sprint(v)
	}
	return rows.Row{Table: TableNotify, Key: message, Fields: fields}
}

// Hold is a row of SLUICE_HOLD.
type Hold struct {
	flowcontrol.Hold
	PortName     string // that the flow leaves by, and the message came in by
	Since, Until time.Time

	Known                    bool // the switch tells what follows
	Octets, Packets, Waiting uint64
	Dropped                  uint64
}

// Add adds what the switch tells of a hold on one port.
func (h *Hold) Add(s sai.HoldState, err error) {
	if err != nil {
		return // it is over there
	}
	h.Known = true
	h.Octets, h.Packets = h.Octets+s.Octets, h.Packets+s.Packets
	h.Waiting, h.Dropped = h.Waiting+s.WaitingOctets, h.Dropped+s.DroppedPackets
}

// Row is the row.
func (h Hold) Row() rows.Row {
	fields := map[string]string{
		"message": h.Kind.String(), "from": h.From.WithZone("").String(), "port": h.PortName, "queue": fmt.Sprint(h.Queue), "stream_id": fmt.Sprint(h.Stream),
		"action": "pause", "method": "exact", "state": "held", "since": Stamp(h.Since), "until": Stamp(h.Until), "refreshes": fmt.Sprint(h.Refreshes),
	}
	why := fmt.Sprintf("queue %d of the neighbor %s is congested by it", h.Queue, h.From)
	if h.Kind == notify.KindPPFC {
		why = fmt.Sprintf("the node %s is congested by it", h.From)
		delete(fields, "stream_id")
	}
	switch {
	case h.Ignored:
		fields["state"] = "ignored"
		why = fmt.Sprintf("the neighbor %s held it for too long without an end", h.From)
	case h.Measuring:
		fields["state"] = "measuring"
	}
	fields["why"] = why
	if h.Keep > 0 {
		fields["action"], fields["reduction"] = "reduce", fmt.Sprint(100-h.Keep)
		if h.Rate > 0 {
			fields["rate_mbps"] = fmt.Sprint(h.Rate / 1e6)
		}
	}
	if h.Source.IsValid() {
		fields["src"], fields["dst"] = h.Source.String(), h.Destination.String()
	}
	if h.Known {
		fields["octets"], fields["packets"] = fmt.Sprint(h.Octets), fmt.Sprint(h.Packets)
		fields["waiting_bytes"], fields["dropped"] = fmt.Sprint(h.Waiting), fmt.Sprint(h.Dropped)
	}
	key := fmt.Sprintf("%s,%s,%#04x,%d", h.From, h.PortName, h.Stream, h.Queue)
	if h.Kind == notify.KindPPFC {
		key = fmt.Sprintf("%s,%s,%s,%#06x,%d", h.From, h.Source, h.Destination, h.Match.Value, h.Queue)
	}
	return rows.Row{Table: TableHold, Key: key, Fields: fields}
}

// Stamp is a time with milliseconds.
func Stamp(t time.Time) string {
	return t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
}

// Congested adds what a congested flow has to its row in SLUICE_FLOW.
func Congested(f *flowcontrol.CongestedFlow, since time.Time, fields map[string]string) {
	fields["src"], fields["dst"] = f.Source.String(), f.Destination.String()
	fields["dest_qp"], fields["flow_label"] = fmt.Sprint(f.DestQP), fmt.Sprint(f.Label)
	fields["queue"], fields["queue_bytes"], fields["exact"] = fmt.Sprint(f.Number), fmt.Sprint(f.Octets), "true"
	fields["egress_port"], fields["since"], fields["state"] = f.Port, Stamp(since), "normal"
	if f.Congested {
		fields["state"] = "congested"
	}
	if f.Stream != 0 {
		fields["stream_id"] = fmt.Sprint(f.Stream)
	}
	if f.In != "" {
		fields["ingress_port"] = f.In
	}
	if f.Said {
		fields["told"] = f.To.String()
	}
}
