// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"fmt"
	"time"

	"sluice/orchagent-ext/sim/scenario"
	"sluice/orchagent-ext/sim/topology"
)

// Proposal is one setting.
type Proposal struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Why     string `json:"rests_on"`
	Longer  string `json:"if_4_times_longer"`  // cost where the round trip is four times as long
	Shorter string `json:"if_4_times_shorter"` // and a quarter
}

// duration is that of a hold: HOLD lasts until a resume, so that its length decides only how
// long a flow waits whose resume was lost. Shorter ones cost messages.
const duration = 40 * time.Millisecond

// mtu is the octets of a full packet on the wire.
const mtu = 4096 + 102

// Propose returns the proposals for a scenario. loop is the time from a mark to the hold
// upstream, and from a resume to the first packet: the reaction, and the longest link between
// switches there and back.
func Propose(s *scenario.Scenario) []Proposal {
	f := s.Topology()
	hop, trip := delays(f)
	loop := s.Reaction() + 2*hop
	rate := float64(f.FabricGbit) * 1e9 / 8 // octets/s of a port between switches
	host := float64(f.HostGbit) * 1e9 / 8
	octets := func(rate float64, d time.Duration) float64 { return rate * d.Seconds() }
	low := octets(host, loop) + mtu
	high := 2 * low
	room := high + octets(rate, loop)
	target := octets(host, trip)
	size := func(v float64) string { return fmt.Sprintf("%.0f kB", v/1000) }
	wait := func(v, rate float64) string {
		return time.Duration(v / rate * 1e9).Round(100 * time.Nanosecond).String()
	}
	kept := octets(host, 2*loop) + mtu
	ports := f.HostsPerLeaf + len(f.Ups[0])
	return []Proposal{
		{
			"low_bytes", size(low),
			fmt.Sprintf("what a host's link of %d Gbit/s takes from a resume to the first packet: %v (reaction %v, link there and back %v)", f.HostGbit, loop, s.Reaction(), 2*hop),
			"the port is idle for " + (3 * loop).String() + " after each hold: the flow loses that of every hold",
			"packets wait " + wait(low*3/4, host) + " longer than they need",
		},
		{
			"high_bytes", size(high), "twice low_bytes: a flow that swings about one mark would send a message each time",
			"the queue grows " + size(3*octets(rate, loop)) + " further before the hold acts: it needs the buffer, or is dropped or paused",
			"packets of the flow wait " + wait(high*3/4, host) + " longer than they need",
		},
		{
			"room_bytes", size(kept),
			fmt.Sprintf("what a host of %d Gbit/s sends to a switch that holds its flow in two loops of %v: until the flow passes the mark there, and until the host obeys. Where hosts obey no PFCM, no room is enough: PFC has to stop them", f.HostGbit, loop),
			"the switch drops, or by PFC stops all flows of the host: it is short by " + size(3*octets(host, 2*loop)),
			size(octets(host, 2*loop)*3/4) + " more than it needs",
		},
		{
			"duration_us", fmt.Sprint(duration.Microseconds()), "a hold ends by its resume; this ends one whose resume was lost, and a shorter one costs messages: one each " + (duration / 2).String() + " and flow",
			"nothing below a loop of " + (duration / 2).String(), "nothing",
		},
		{
			"target_bytes", size(target), fmt.Sprintf("the bandwidth-delay product of a host's link over the longest path, %v there and back", trip),
			"a link is up to 75 % idle after a rate falls, until advice raises it by 1 % of the port an interval",
			"packets wait " + wait(target*3/4, host) + " longer than they need",
		},
		{
			"target_delay_us", fmt.Sprintf("%.0f", trip.Seconds()*1e6), "target_bytes at the speed of the host's link", "as target_bytes", "as target_bytes",
		},
		{
			"buffer", fmt.Sprintf("%.1f MB", room*float64(ports)/1e6), fmt.Sprintf("high_bytes, and what a port of %d Gbit/s takes in a loop of %v, for each of %d ports of a leaf: one flow each", f.FabricGbit, loop, ports),
			"short by " + fmt.Sprintf("%.1f MB", 3*octets(rate, loop)*float64(ports)/1e6), fmt.Sprintf("%.1f MB more than it needs", 0.75*octets(rate, loop)*float64(ports)/1e6),
		},
	}
}

// delays returns the longest delay of a link between switches, and the round trip of a full
// packet and an acknowledgement over the longest path of the fabric.
func delays(f *topology.Fabric) (hop, trip time.Duration) {
	first, last := f.Pair(0, f.Leaves-1), f.Pair(f.Leaves-1, 0)
	way := func(path uint32, octets int64) (ps int64) {
		p := &f.Paths[path]
		for _, l := range []int{0, f.Hosts} { // the links of hosts
			ps += f.Links[l].Delay + octets*int64(f.Links[l].PSPerOctet)
		}
		for _, l := range p.Links[:p.N] {
			hop = max(hop, time.Duration(f.Links[l].Delay/1000))
			ps += f.Links[l].Delay + octets*int64(f.Links[l].PSPerOctet)
		}
		return ps
	}
	return hop, time.Duration((way(first.First, mtu) + way(last.First, 106)) / 1000)
}
