// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net"
	"time"

	"sluice/orchagent-ext/hold/flowcontrol"
	sai "sluice/sai-shim"
)

// noFlows is a switch that neither watches nor holds single flows: those are held at their
// senders.
type noFlows struct{}

var _ flowcontrol.Library = noFlows{}

// WatchFlows implements [flowcontrol.Library]: there is no descriptor, since no event comes.
func (noFlows) WatchFlows() (int, error) { return -1, nil }

// SetQueueMarks implements [flowcontrol.Library].
func (noFlows) SetQueueMarks(sai.ObjectID, uint32, uint32) error { return nil }

// SetFlowKey implements [flowcontrol.Library].
func (noFlows) SetFlowKey(sai.FlowKey) error { return nil }

// SetStreamSeed implements [flowcontrol.Library].
func (noFlows) SetStreamSeed(uint32) error { return nil }

// FlowStats implements [flowcontrol.Library].
func (noFlows) FlowStats() (s sai.FlowStats, err error) { return s, sai.ErrNotSupported }

// ReadFlowEvents implements [flowcontrol.Switch].
func (noFlows) ReadFlowEvents([]sai.FlowEvent) (int, uint64) { return 0, 0 }

// GetFlow implements [flowcontrol.Switch].
func (noFlows) GetFlow(sai.ObjectID, uint64) (s sai.FlowState, err error) {
	return s, sai.ErrNotSupported
}

// SetHold implements [flowcontrol.Switch].
func (noFlows) SetHold(sai.ObjectID, sai.HoldMatch, time.Duration, uint64) error {
	return sai.ErrNotSupported
}

// GetHold implements [flowcontrol.Switch].
func (noFlows) GetHold(sai.ObjectID, sai.HoldMatch) (s sai.HoldState, err error) {
	return s, sai.ErrNotSupported
}

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
