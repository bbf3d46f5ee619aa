// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/rows"
)

// health adds the health of connections to the rows of flows, and rows of the heaviest flows
// that lack an entry.
func (r *reader) health(known []*telemetry.Flow, port func(number uint64) string) []*telemetry.Flow {
	report := r.Report()
	if report == nil {
		return known
	}
	health := make(map[string]*packetio.FlowHealth, len(report.Flows))
	for i := range report.Flows {
		f := &report.Flows[i]
		id := healthID(f)
		// datagrams: all that go to one queue pair are one row
		if before := health[id]; before != nil {
			f = together(before, f)
		}
		health[id] = f
	}
	for _, row := range known {
		if f := health[*row.Id]; f != nil {
			r.describe(row, f, port)
			delete(health, *row.Id)
		}
	}
	others := slices.Collect(maps.Keys(health))
	heavier := func(a, b string) int {
		return cmp.Or(cmp.Compare(health[b].Octets, health[a].Octets), strings.Compare(a, b))
	}
	for _, id := range status.First(others, max(0, status.FlowRows-len(known)), heavier) {
		row := &telemetry.Flow{Id: &id}
		r.describe(row, health[id], port)
		known = append(known, row)
	}
	return known
}

// healthID returns the key of a direction's row.
func healthID(f *packetio.FlowHealth) string {
	return fmt.Sprintf("%s,%s,%06x", netip.AddrFrom16(f.Src).Unmap(), netip.AddrFrom16(f.Dst).Unmap(), f.DestQP)
}

// together returns the sum of the flows of two queue pairs to the same one.
func together(a, b *packetio.FlowHealth) *packetio.FlowHealth {
	both := *a
	for _, c := range []struct{ to, more *uint64 }{
		{&both.Packets, &b.Packets}, {&both.Octets, &b.Octets}, {&both.CE, &b.CE}, {&both.ECT, &b.ECT}, {&both.CNPs, &b.CNPs},
		{&both.Payload, &b.Payload}, {&both.Messages, &b.Messages},
	} {
		*c.to += *c.more
	}
	both.First, both.SrcQPFrom = min(a.First, b.First), flow.None
	both.Goodput, both.MessageMedian, both.MessageP99 = 0, 0, 0 // of one each
	return &both
}

// describe fills in the health of a flow.
func (r *reader) describe(row *telemetry.Flow, f *packetio.FlowHealth, port func(number uint64) string) {
	if row.Src == nil {
		row.Src, row.Dst = telemetry.Text(netip.AddrFrom16(f.Src).Unmap().String()), telemetry.Text(netip.AddrFrom16(f.Dst).Unmap().String())
		row.DestQp, row.FlowLabel, row.SrcPort = &f.DestQP, &f.FlowLabel, &f.SrcPort
	}
	if f.SrcQPFrom != flow.None {
		row.SrcQp = &f.SrcQP
		rows.SetEnum(&row.SrcQpFrom, f.SrcQPFrom.String())
	}
	if row.IngressPort == nil {
		row.IngressPort = telemetry.Text(port(f.In))
	}
	if row.EgressPort == nil && f.Out != 0 {
		row.EgressPort = telemetry.Text(port(f.Out))
	}
	other := f.NAKs[roce.NAKInvalidRD] + f.NAKs[roce.NAKReserved]
	if r.settings.chance != 0 && (!r.settings.answered || f.Acks == 0) {
		row.SamplingRate = &r.settings.chance
	}
	row.SeenSince = telemetry.FineStamp(time.Unix(0, f.First))
	row.SeenPackets, row.SeenBytes, row.EctPackets, row.CePackets = &f.Packets, &f.Octets, &f.ECT, &f.CE
	row.Cnps, row.Acks, row.NaksOther = &f.CNPs, &f.Acks, &other
	row.NaksRnr, row.NaksSequence, row.NaksInvalid = &f.NAKs[roce.NAKRNR], &f.NAKs[roce.NAKSequence], &f.NAKs[roce.NAKInvalid]
	row.NaksAccess, row.NaksOperation = &f.NAKs[roce.NAKAccess], &f.NAKs[roce.NAKOperation]
	if !r.settings.health.Whole {
		return
	}
	row.PayloadBytes, row.PsnGaps, row.PsnMissing, row.PsnLost = &f.Payload, &f.Gaps, &f.Missing, telemetry.Count(f.Lost())
	row.PsnReordered, row.PsnRecovered, row.PsnDuplicates = &f.Reordered, &f.Recovered, &f.Duplicates
	row.PsnRestarts, row.PsnResumed, row.RetransmittedBytes = &f.Restarts, &f.Resumed, &f.Retransmitted
	if f.Goodput > 0 {
		row.GoodputMbps = status.Rounded(f.Goodput/1e6, 3)
	}
	if f.Messages > 0 {
		row.Messages = &f.Messages
	}
	if f.MessageP99 > 0 {
		row.MessageBytesP50, row.MessageBytesP99 = &f.MessageMedian, &f.MessageP99
	}
}
