// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/packetio"
	"sluice/orchagent-ext/roce"
	"sluice/orchagent-ext/telemetry"
	"sluice/yang/rows"
)

// healthOf is how far the packets that come for the export of flows tell how connections
// fare. opened is how many packets the switch was to give out when it was opened.
func healthOf(s *config.Snapshot, c asic.Choices, opened asic.CPU) packetio.Health {
	return packetio.Health{
		Whole: *s.IPFIX.SamplingRate == 1 && DriverOf(s) == SAI && c.Method(asic.NeedExport) == asic.Sample,
		Rate:  min(*s.Global.CpuRate, opened.Rate), Burst: min(*s.Global.CpuBurst, opened.Burst),
	}
}

// health adds to the rows of flows how these fare, and rows of the heaviest flows that have
// none: those without an entry.
func (r *reader) health(known []*telemetry.Flow, port func(number uint64) string) []*telemetry.Flow {
	if r == nil {
		return known
	}
	report := r.Report()
	if report == nil {
		return known
	}
	fares := make(map[string]*packetio.FlowHealth, len(report.Flows))
	for i := range report.Flows {
		f := &report.Flows[i]
		id := healthID(f)
		if before := fares[id]; before != nil { // datagrams: all that go to one queue pair are one row
			f = together(before, f)
		}
		fares[id] = f
	}
	for _, row := range known {
		if f := fares[*row.Id]; f != nil {
			r.describe(row, f, port)
			delete(fares, *row.Id)
		}
	}
	others := slices.Collect(maps.Keys(fares))
	heavier := func(a, b string) int {
		return cmp.Or(cmp.Compare(fares[b].Octets, fares[a].Octets), strings.Compare(a, b))
	}
	for _, id := range first(others, max(0, flowRows-len(known)), heavier) {
		row := &telemetry.Flow{Id: &id}
		r.describe(row, fares[id], port)
		known = append(known, row)
	}
	return known
}

func healthID(f *packetio.FlowHealth) string {
	return fmt.Sprintf("%s,%s,%06x", netip.AddrFrom16(f.Src).Unmap(), netip.AddrFrom16(f.Dst).Unmap(), f.DestQP)
}

// together is what two queue pairs send to the same one.
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

// describe fills in how a flow fares.
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
	row.SamplingRate, row.SeenSince = &r.settings.rate, telemetry.FineStamp(time.Unix(0, f.First))
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
		row.GoodputMbps = rounded(f.Goodput/1e6, 3)
	}
	if f.Messages > 0 {
		row.Messages = &f.Messages
	}
	if f.MessageP99 > 0 {
		row.MessageBytesP50, row.MessageBytesP99 = &f.MessageMedian, &f.MessageP99
	}
}
