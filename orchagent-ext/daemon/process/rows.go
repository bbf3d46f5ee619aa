// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/control"
	"sluice/orchagent-ext/daemon/loop"
	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/orchagent-ext/hold/watch"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/orchagent"
	sai "sluice/sai-shim"
)

// rowSwitch is a switch that orchagent programs, and whose packets to the CPU come
// by the netdevs of its ports.
type rowSwitch struct {
	*orchagent.Driver
	*packetio.Netdev
	ports []string
	// that the operator states for export; 0: nothing is exported
	rate     uint32
	counters *rowCounters        // nil before the first
	stats    *orchagent.Counters // of the loop
}

// openRows opens the driver orchagent, with the netdevs of ports as source of packets.
func (o *opener) openRows() (*loop.Switch, error) {
	driver, err := orchagent.New(o.ending, o.databases, orchagent.Options{Log: o.log, Memory: o.options.memory()})
	if err != nil {
		return nil, err
	}
	netdev, err := packetio.OpenNetdev()
	if err != nil {
		return nil, errors.Join(err, driver.Close())
	}
	netdev.OpenSamples = o.options.OpenSamples
	s := &rowSwitch{Driver: driver, Netdev: netdev}
	return &loop.Switch{Driver: s, Source: netdev, Hardware: s, Rules: driver.Rules(), Control: control.Switch{Ports: rowPorts{driver}, Depths: s.depths(driver.Depths())}}, nil
}

// rowPorts are the ports as flow control needs them. The interface index of its netdev represents a
// port, as in the packets that come to the CPU. Queues are the driver's.
type rowPorts struct{ *orchagent.Driver }

// PortID implements [control.Ports].
func (rowPorts) PortID(name string) sai.ObjectID {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return sai.Null // the netdev comes with the port
	}
	return sai.ObjectID(i.Index)
}

// depths returns a function that reads queues.
func (s *rowSwitch) depths(r *orchagent.Depths) func(context.Context, []sai.ObjectID) []watch.Depth {
	return func(ctx context.Context, queues []sai.ObjectID) []watch.Depth {
		read := r.Read(ctx, queues)
		all := make([]watch.Depth, len(read))
		for i, d := range read {
			all[i] = watch.Depth{Reading: sampled.Reading{Octets: d.Octets, Packets: d.Packets, Dropped: d.Dropped}, Left: d.Left, Err: d.Err, Slow: d.Slow, Doubt: d.Doubt}
		}
		return all
	}
}

// PortsChanged implements [loop.Hardware]: rows have the ports.
func (s *rowSwitch) PortsChanged() bool { return false }

// SetPorts implements [loop.Hardware].
func (s *rowSwitch) SetPorts(ports []engine.Port) (reloaded bool, err error) {
	s.ports = s.ports[:0]
	for _, p := range ports {
		s.ports = append(s.ports, p.Name)
	}
	err = errors.Join(s.Driver.SetPorts(ports), s.Netdev.SetPorts(s.ports))
	s.stats = s.Driver.Counters()
	return false, err
}

// Probe also looks for netdevs that came since, which orchagent makes, and tries
// whether samples of sFlow can be received, where these are to be used.
func (s *rowSwitch) Probe() (engine.Abilities, engine.Features, error) {
	if err := s.Netdev.SetPorts(s.ports); err != nil {
		return nil, engine.Features{}, err
	}
	a, f, err := s.Driver.Probe()
	if err != nil {
		return a, f, err
	}
	if err := s.Sampled(a[engine.NeedExport][engine.SFlow].Can); err != nil {
		a.Set(engine.NeedExport, engine.SFlow, engine.Ability{Reason: err.Error()})
	}
	return a, f, nil
}

// Expect implements [loop.Hardware]. Where sFlow samples, its samples do not come by
// the netdevs, and copies do; a mirror session's samples come there beside
// the copies.
func (s *rowSwitch) Expect(p engine.Policy, c engine.Choices) {
	s.rate = 0
	if p.Export != nil {
		s.rate = p.Export.Rate
	}
	s.SetRate(p.CPU.Rate, p.CPU.Burst)
	switch {
	case c.Method(engine.NeedExport) == engine.SFlow:
		s.SetWhy(packetio.Copied)
	case s.Copies(p):
		s.SetWhy(packetio.Either)
	default:
		s.SetWhy(packetio.Sampled)
	}
}

// Warnings implements [loop.Hardware].
func (s *rowSwitch) Warnings() []string {
	w := s.Driver.Warnings()
	if is := s.SampleRate(); is != 0 && s.rate != 0 && is != s.rate {
		w = append(w, fmt.Sprintf("sFlow samples one of %d packets, and collectors are told sampling_rate %d of SLUICE_IPFIX|global: set it to the same", is, s.rate))
	}
	return w
}

// Counters implements [loop.Hardware]: the reader of before for the same ports.
func (s *rowSwitch) Counters() statistics.Switch {
	if s.counters == nil || !slices.Equal(s.counters.ports, s.ports) {
		s.counters = &rowCounters{Counters: s.Driver.Counters(), ports: slices.Clone(s.ports)}
	}
	return s.counters
}

// PortStats implements [loop.Hardware].
func (s *rowSwitch) PortStats(name string) *telemetry.PortStats {
	return portOf(s.stats, name)
}

// portOf returns the row of a port; nil: it has no counters.
func portOf(c *orchagent.Counters, name string) *telemetry.PortStats {
	v, err := c.Port(name)
	if err != nil {
		return nil
	}
	return &telemetry.PortStats{Name: &name, RxPackets: &v.RxPackets, RxBytes: &v.RxOctets, TxPackets: &v.TxPackets, TxBytes: &v.TxOctets}
}

// rowCounters are the counters in COUNTERS_DB, for the task of statistics.
type rowCounters struct {
	*orchagent.Counters
	ports  []string
	queues map[statistics.Object]*telemetry.QueueStats // as they were read last
}

// atOnce is how many objects are read at once: all, of which Counters has the rows.
const atOnce = 1 << 20

// AtOnce implements [statistics.Switch].
func (c *rowCounters) AtOnce(bool) int { return atOnce }

// Queues implements [statistics.Switch].
func (c *rowCounters) Queues(ports []string) (map[string]int, error) {
	asked := make(map[string]bool, len(ports))
	for _, name := range ports {
		asked[name] = true
	}
	all, err := c.Counters.Queues(asked)
	queues := map[string]int{}
	c.queues = make(map[statistics.Object]*telemetry.QueueStats, len(all))
	for i := range all {
		q := &all[i]
		queues[q.Port] = max(queues[q.Port], int(q.Queue)+1)
		c.queues[statistics.Object{Port: q.Port, Queue: int(q.Queue)}] = &telemetry.QueueStats{Port: &q.Port, Queue: &q.Queue, WatermarkBytes: &q.Watermark, Packets: &q.Packets, Bytes: &q.Octets, Dropped: &q.Dropped}
	}
	return queues, err
}

// ReadPorts implements [statistics.Switch].
func (c *rowCounters) ReadPorts(names []string) []*telemetry.PortStats {
	all := make([]*telemetry.PortStats, len(names))
	for i, name := range names {
		all[i] = portOf(c.Counters, name)
	}
	return all
}

// ReadQueues implements [statistics.Switch], with the rows that [rowCounters.Queues] read.
func (c *rowCounters) ReadQueues(queues []statistics.Object) ([]*telemetry.QueueStats, error) {
	all := make([]*telemetry.QueueStats, len(queues))
	for i, o := range queues {
		all[i] = c.queues[o]
	}
	return all, nil
}

// Lost implements [loop.Hardware]: orchagent counts the drops of its switch.
func (s *rowSwitch) Lost() loop.Lost {
	return loop.Lost{RingFull: s.RingFull(), Policed: s.Policed()}
}

// Close closes the driver and the source of packets.
func (s *rowSwitch) Close() error { return errors.Join(s.Driver.Close(), s.Netdev.Close()) }
