// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net"

	sai "sluice/sai-shim"
)

// netdevs are the ports of a switch that is programmed by rows: the interface index of its
// netdev represents a port, as in the packets that come to the CPU.
type netdevs struct{}

// PortID implements [Ports].
func (netdevs) PortID(name string) sai.ObjectID {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return sai.Null // the netdev comes with the port
	}
	return sai.ObjectID(i.Index)
}

// QueueIDs implements [Ports].
func (netdevs) QueueIDs(string) ([]sai.ObjectID, error) { return nil, nil }
