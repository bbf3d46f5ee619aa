// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/wire/roce"
)

// RoundTrips are the round-trip times from the switch to hosts.
type RoundTrips struct {
	Hosts []rtt.Host
	rtt.Counters
}

// timesReader is the part of a reader that measures round-trip times.
type timesReader struct {
	table   *rtt.Table
	reports handover[RoundTrips]
	at      int64 // when the last report was made, ns
}

// newTimesReader returns a reader without flows.
func newTimesReader() *timesReader {
	return &timesReader{table: rtt.New(), reports: newHandover[RoundTrips]()}
}

// observe takes a packet of a flow. Only a packet with the kernel's time counts: the time at which
// it is read is off by as much as the machine is busy.
func (t *timesReader) observe(p *roce.Packet, f *flow.Flow, frame *Frame, srcQP uint32) {
	if frame.At != 0 {
		t.table.Packet(p, f.SessionSrc().As16(), f.SessionDst().As16(), srcQP, frame.At)
	}
}

// tell fills in a report, where one is asked for and the last one is old.
func (t *timesReader) tell(now int64) {
	if since := now - t.at; since >= 0 && since < reportEvery {
		return
	}
	if r := t.reports.wanted(); r != nil {
		r.Hosts, r.Counters, t.at = t.table.AppendHosts(r.Hosts[:0]), t.table.Counters(), now
		t.reports.hand(r)
	}
}

// RoundTrips returns the last measured times, valid until the next call; nil before the first ones,
// and for a reader without [Config.RoundTrips]. One goroutine calls it.
func (r *Reader) RoundTrips() *RoundTrips {
	if r.times == nil {
		return nil
	}
	return r.times.reports.last()
}
