// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"strings"

	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// Tables of APPL_DB with neighbors, INTERFACE:ADDRESS, and with the state of ports and PortChannels.
const (
	tableNeighbor = "NEIGH_TABLE"
	tablePort     = "PORT_TABLE"
	tableChannel  = "LAG_TABLE"
	fieldOper     = "oper_status"
)

// neighborRow is the row of the neighbor at a next hop.
func neighborRow(to engine.NextHop) rows.Row {
	return rows.Row{Table: tableNeighbor, Key: to.Port + ":" + to.Address.String()}
}

// Lacking returns those of some next hops whose neighbor SONiC has lost, and those by a port that is
// down in SONiC, whatever the carrier of its netdev. While a group of a route has the next hop a rule to
// it stays active.
func (s *Rules) Lacking(hops []engine.NextHop) (neighbors, ports map[engine.NextHop]bool, err error) {
	var wanted []rows.Row
	for _, to := range hops {
		wanted = append(wanted, neighborRow(to), rows.Row{Table: tablePort, Key: to.Port}, rows.Row{Table: tableChannel, Key: to.Port})
	}
	found, err := get(s.appl, wanted...)
	if err != nil {
		return nil, nil, err
	}
	neighbors, ports = map[engine.NextHop]bool{}, map[engine.NextHop]bool{}
	for i, to := range hops {
		neighbor, port, channel := found[3*i], found[3*i+1], found[3*i+2]
		if neighbor == nil {
			neighbors[to] = true
		}
		if isDown(port) || isDown(channel) {
			ports[to] = true
		}
	}
	return neighbors, ports, nil
}

// isDown reports whether a row of a port has the state down. Without a state it does not.
func isDown(fields map[string]string) bool { return strings.EqualFold(fields[fieldOper], "down") }
