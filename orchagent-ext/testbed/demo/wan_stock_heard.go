// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"slices"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// heard has the packets at gateway 1, with the kernel's times in ns since 1970.
type heard struct {
	packets, cnps [sourceFlows][]int64 // of flows, from the sender; to it
	stops         [sourceFlows][]int64 // first messages of stops, from gateway 2
	victims       []int64              // packets of victims
	streams       map[uint16]int       // index of the flow
	packet        roce.Packet
	message       notify.Packet
}

// newHeard expects the flows of the half "source".
func newHeard() *heard {
	h := &heard{streams: map[uint16]int{}}
	for i := range uint32(sourceFlows) {
		h.streams[flow.HashStreamID(0, fabric.HostA.Addr().As16(), fabric.HostB.Addr().As16(), firstLabel+sourceQP+i)] = int(i)
	}
	return h
}

// host takes a frame at the port of the sender.
func (h *heard) host(at int64, outgoing bool, frame []byte) {
	if h.packet.Parse(frame, len(frame)) != nil {
		return
	}
	qp, first, list := h.packet.DestQP(), uint32(sourceQP), &h.packets
	if outgoing {
		if h.packet.Opcode() != roce.CNP {
			return
		}
		first, list = sourceQP+0x100, &h.cnps
	}
	if qp >= sourceVictimQP && qp < sourceVictimQP+sourceVictims {
		h.victims = append(h.victims, at)
	}
	if qp >= first && qp < first+sourceFlows {
		list[qp-first] = append(list[qp-first], at)
	}
}

// link takes a frame at the port to gateway 2.
func (h *heard) link(at int64, outgoing bool, frame []byte) {
	if outgoing || h.message.Parse(frame, notify.DefaultCodePoints()) != nil || h.message.Kind != notify.KindPFCM {
		return
	}
	m := &h.message.PFCM
	if i, ok := h.streams[m.StreamID]; ok && m.Action == notify.Pause && m.Time == sourceTimeUS {
		h.stops[i] = append(h.stops[i], at)
	}
}

// sourceFigures are the figures of the half "source".
type sourceFigures struct {
	// FirstCNP: PFCM received → first CNP sent, µs, by the kernel's time stamps
	FirstCNP  float64 `json:"first_cnp_us_p99"`
	FirstP50  float64 `json:"first_cnp_us_p50"`
	Stops     int     `json:"stops_n"`
	Unstopped int     `json:"stops_without_cnp"`
	// Starved: stops and reductions left out, since the machine had no CPU for the sender
	Starved int `json:"starved_n"`
	// RoundTrips: stop sent → less than 10 % of the rate in the round trip from then on, median
	RoundTrips float64 `json:"round_trips_to_10_percent"`
	WorstTrips float64 `json:"round_trips_worst"`
	Trips      int     `json:"round_trips_n"`
	// RateOverAsked: of the reductions, the one that is furthest from 1; 0: none was measured
	RateOverAsked float64            `json:"rate_over_asked"`
	Reductions    map[string]float64 `json:"rate_over_asked_by_percent"`
	// Victims: of the rate that each victim offers, the least that was delivered of one
	Victims float64 `json:"victims"`
	CNPs    float64 `json:"cnps_per_s"` // of one flow that is stopped
}

// print shows the figures to people.
func (s *sourceFigures) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `
holds by the sender, which obeys CNPs by DCQCN; %d stops over %v round trip, %d requests left out

PFCM received → first CNP   p50 %.0f µs, p99 %.0f µs
below 10 %% of the rate      after %.2f round trips, at most %.2f
rate ÷ asked rate           %.3f
victims                     %.1f %%
CNPs a second and flow      %.0f
`, s.Stops, wanRTT, s.Starved, s.FirstP50, s.FirstCNP, s.RoundTrips, s.WorstTrips, s.RateOverAsked, 100*s.Victims, s.CNPs)
	return err
}

// judge checks the figures against their bars.
func (s *sourceFigures) judge(full bool, check func(ok bool, format string, args ...any)) {
	check(s.Stops > 0 && s.Unstopped == 0, "%d of %d stops made no CNP", s.Unstopped, s.Stops)
	check(!full || s.Trips >= sourceAllStop/2 && len(s.Reductions) == len(sourceReductions), "the machine had no CPU for the sender in %d requests: too many", s.Starved)
	check(!full || s.FirstCNP <= 1000, "PFCM to the first CNP takes %.0f µs (p99): want at most 1000", s.FirstCNP)
	check(!full || s.RoundTrips <= 2, "a stopped sender is below 10 %% after %.2f round trips: want at most 2", s.RoundTrips)
	check(!full || s.RateOverAsked >= 0.9 && s.RateOverAsked <= 1.1, "the rate is %.3f of that asked for: want 0.90 to 1.10", s.RateOverAsked)
	check(!full || s.Victims >= 0.95, "victims get %.1f %% of their rate: want at least 95 %%", 100*s.Victims)
}

// figures sums up, all but the victims.
func (h *heard) figures(a *asking) *sourceFigures {
	s := &sourceFigures{Reductions: map[string]float64{}}
	var first []int64
	var trips []float64
	cnps := 0
	for i := range h.stops {
		for _, at := range h.stops[i] {
			s.Stops++
			n := between(h.cnps[i], at, at+int64(sourceStop))
			if cnps += len(n); len(n) == 0 {
				s.Unstopped++
				continue
			}
			first = append(first, n[0]-at)
		}
		for _, at := range a.stopped[i] {
			if h.starved(at-2*int64(wanRTT), at+int64(sourceStop+wanRTT)) > 0 {
				s.Starved++
			} else {
				trips = append(trips, h.tripsTo(i, at))
			}
		}
	}
	slices.Sort(first)
	s.FirstP50, s.FirstCNP = percentile(first, .5)/1000, percentile(first, .99)/1000
	if s.Trips = len(trips); s.Trips > 0 {
		slices.Sort(trips)
		s.RoundTrips, s.WorstTrips = trips[len(trips)/2], trips[len(trips)-1]
	}
	if s.Stops > 0 {
		s.CNPs = float64(cnps) / (float64(s.Stops) * sourceStop.Seconds())
	}
	by := map[int][]float64{}
	for _, r := range a.reduced {
		if h.starved(r.at-int64(sourceCalm), r.at+int64(sourceReduce)) > mostStarved {
			s.Starved++
			continue
		}
		for i := range sourceReduced {
			by[r.percent] = append(by[r.percent], h.overAsked(i, r))
		}
	}
	for percent, ratios := range by {
		ratio := median(ratios, func(r float64) float64 { return r })
		s.Reductions[fmt.Sprint(percent)] = ratio
		if s.RateOverAsked == 0 || max(ratio, 1/ratio) > max(s.RateOverAsked, 1/s.RateOverAsked) {
			s.RateOverAsked = ratio
		}
	}
	return s
}

// starved returns the part of the slices of a time in which no victim sent.
func (h *heard) starved(from, to int64) float64 {
	n, none := 0, 0
	for at := from; at+int64(starvedSlice) <= to; at += int64(starvedSlice) {
		if n++; len(between(h.victims, at, at+int64(starvedSlice))) == 0 {
			none++
		}
	}
	return float64(none) / float64(n)
}

// tripsTo returns after how many round trips a flow is below a tenth of the rate that it had
// before a stop that was sent at a time: the round trip from then on has less than a tenth of
// the packets. It is the length of the stop where that never happens.
func (h *heard) tripsTo(flow int, stop int64) float64 {
	before := len(between(h.packets[flow], stop-2*int64(wanRTT), stop)) / 2
	for d := time.Duration(0); d < sourceStop; d += wanRTT / 20 {
		from := stop + int64(d)
		if 10*len(between(h.packets[flow], from, from+int64(wanRTT))) < before {
			return d.Seconds() / wanRTT.Seconds()
		}
	}
	return sourceStop.Seconds() / wanRTT.Seconds()
}

// overAsked returns the settled rate of a flow under a reduction as a part of the rate asked for.
func (h *heard) overAsked(flow int, r reduction) float64 {
	offered := sourcePackets()
	settled := len(between(h.packets[flow], r.at+int64(sourceSettle), r.at+int64(sourceReduce)))
	return float64(settled) / (sourceReduce - sourceSettle).Seconds() / (offered * float64(100-r.percent) / 100)
}

// sourcePackets returns how many packets a second a flow offers.
func sourcePackets() float64 {
	f := sourceFlow(sourceQP, sourceMbps)
	return float64(f.Rate) / 8 / float64(f.Octets())
}

// between returns the times of a sorted list from a time on and before another.
func between(times []int64, from, to int64) []int64 {
	i, _ := slices.BinarySearch(times, from)
	j, _ := slices.BinarySearch(times, to)
	return times[i:max(i, j)]
}
