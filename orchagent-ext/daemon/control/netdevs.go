// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net"

	sai "sluice/sai-shim"
)

// Netdevs are the ports of a switch that is programmed by rows: the interface index of its
// netdev represents a port, as in the packets that come to the CPU. Queues are the driver's.
type Netdevs struct{}

// PortID implements [Ports].
func (Netdevs) PortID(name string) sai.ObjectID {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return sai.Null // the netdev comes with the port
	}
	return sai.ObjectID(i.Index)
}
