// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/yang/rows"
)

// farOff is by how much, as a quotient, a configured round-trip time may differ from the measured
// one before a warning is given.
const farOff = 4

// roundTrips are the round-trip times to hosts, and the one that advice goes by. The zero value is
// empty.
type roundTrips struct {
	// inUse is what advice goes by: as configured, else the time to the farthest host that may
	// be advised, rounded up to a power of two µs; 0: unknown.
	inUse      time.Duration
	configured bool // inUse is that of the configuration

	hosts    []rtt.Host
	farthest rtt.Host // that may be advised; the zero value: all are unknown
}

// update takes the times that packets show (ns since 1970), and those of a report of the task, by
// reactions to advice, which count for hosts that lack the others. report may be nil, and
// advice, as configured, where Rate Advice is off.
func (r *roundTrips) update(advice *flowcontrol.Advice, packets []rtt.Host, report *flowcontrol.Report, now time.Time) {
	best := map[netip.Addr]rtt.Host{}
	if report != nil {
		for _, h := range report.Hosts {
			h.At += now.UnixNano() - report.At
			best[h.Addr] = h
		}
	}
	for _, h := range packets {
		if _, reacts := best[h.Addr]; !reacts || h.Fresh(now.UnixNano()) {
			best[h.Addr] = h
		}
	}
	r.hosts, r.farthest = slices.AppendSeq(r.hosts[:0], maps.Values(best)), rtt.Host{}
	if r.configured = advice != nil && advice.Pace.RTT != 0; advice == nil {
		r.inUse = 0
		return
	}
	for _, h := range r.hosts {
		if h.Fresh(now.UnixNano()) && h.Time > r.farthest.Time && (advice.Mask != 0 || within(advice.Hosts, h.Addr)) {
			r.farthest = h
		}
	}
	switch is := r.farthest.Time; {
	case r.configured:
		r.inUse = advice.Pace.RTT
	case is > r.inUse, is != 0 && is*farOff <= r.inUse:
		r.inUse = roundedUp(is)
	}
}

// roundedUp returns the next power of two µs, so that the time in use changes seldom.
func roundedUp(d time.Duration) time.Duration {
	up := time.Microsecond
	for up < d {
		up *= 2
	}
	return up
}

// within reports whether an address is in one of some prefixes.
func within(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// warning names a configured time that is far off; "" where it is near.
func (r *roundTrips) warning() string {
	if !r.configured || r.farthest.Time == 0 {
		return ""
	}
	is := r.farthest.Time
	if is < farOff*r.inUse && r.inUse < farOff*is {
		return ""
	}
	return fmt.Sprintf("rtt_us of SLUICE_RATE_ADVICE|global is %d, and the farthest host that is measured, %s, is %d us away: without rtt_us the measured time is used", r.inUse.Microseconds(), r.farthest.Addr, is.Microseconds())
}

// rows returns the rows of SLUICE_HOST, the farthest hosts first where there are too many.
func (r *roundTrips) rows() (all []ygot.GoStruct) {
	farther := func(a, b rtt.Host) int { return cmp.Compare(b.Time, a.Time) }
	for _, h := range status.First(r.hosts, status.FlowRows, farther) {
		row := &telemetry.Host{
			Address: telemetry.Text(h.Addr.WithZone("").String()), RttUs: status.Rounded(float64(h.Time)/1e3, 1), Samples: &h.Samples,
			MeasuredAt: telemetry.FineStamp(time.Unix(0, h.At)),
		}
		rows.SetEnum(&row.RttFrom, h.From.String())
		all = append(all, row)
	}
	return all
}
