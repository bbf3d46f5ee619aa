// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"net/netip"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
)

// network is [placer.Network]: the kernel's next hops in the order of the switch, and the
// counters of ports.
type network struct {
	links      map[string]Link
	portStats  func(name string) *telemetry.PortStats
	programmed *programmed // nil: the order is the kernel's
}

// Groups implements [placer.Network].
func (n *network) Groups(dsts []netip.Addr) (map[netip.Addr]nexthops.Result, error) {
	groups, err := nexthops.ReadAll("", dsts)
	if err != nil || n.programmed == nil {
		return groups, err
	}
	is := n.programmed.known()
	return nexthops.InSwitchOrder(groups, is.all, is.err), nil
}

func (n *network) Hash() (ecmp.Kernel, error) { return nexthops.Hash(false) }

func (n *network) Prefixes() (map[netip.Prefix][]string, error) { return nexthops.Prefixes() }

// Spine returns the neighbor of a port, or of a member of a PortChannel.
func (n *network) Spine(link string) string {
	return n.links[link].Spine
}

func (n *network) Sent(link string) (octets uint64, known bool) {
	return n.octets(link, func(s *telemetry.PortStats) *uint64 { return s.TxBytes })
}

func (n *network) Received(link string) (octets uint64, known bool) {
	return n.octets(link, func(s *telemetry.PortStats) *uint64 { return s.RxBytes })
}

// octets sums up a counter of the ports of a netdev.
func (n *network) octets(link string, of func(*telemetry.PortStats) *uint64) (sum uint64, known bool) {
	ports := n.links[link].Ports
	for _, port := range ports {
		s := n.portStats(port)
		if s == nil || of(s) == nil {
			return 0, false
		}
		sum += *of(s)
	}
	return sum, len(ports) > 0
}
