package main

import (
	"errors"
	"log/slog"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/asic/orchagent"
	"sluice/orchagent-ext/orch"
	"sluice/orchagent-ext/packetio"
	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/telemetry"
)

// rowSwitch is a switch that orchagent programs, and whose packets to the CPU come
// by the netdevs of its ports.
type rowSwitch struct {
	*orchagent.Driver
	*packetio.Netdev
	ports []string
}

func openRows(databases *sonicdb.Databases, log *slog.Logger) (orch.Switch, error) {
	driver, err := orchagent.New(databases, log)
	if err != nil {
		return nil, err
	}
	netdev, err := packetio.OpenNetdev()
	if err != nil {
		return nil, errors.Join(err, driver.Close())
	}
	return &rowSwitch{Driver: driver, Netdev: netdev}, nil
}

// SetPorts implements [orch.Switch].
func (s *rowSwitch) SetPorts(ports []asic.Port) error {
	s.ports = s.ports[:0]
	for _, p := range ports {
		s.ports = append(s.ports, p.Name)
	}
	return errors.Join(s.Driver.SetPorts(ports), s.Netdev.SetPorts(s.ports))
}

// Probe also looks for netdevs that came since: orchagent makes them.
func (s *rowSwitch) Probe() (asic.Ladder, asic.Features, error) {
	if err := s.Netdev.SetPorts(s.ports); err != nil {
		return asic.Ladder{}, asic.Features{}, err
	}
	return s.Driver.Probe()
}

func (s *rowSwitch) PortStats(name string) (telemetry.Port, error) {
	v, err := s.PortCounters(name)
	return telemetry.Port{Name: name, RxPackets: v.RxPackets, RxBytes: v.RxOctets, TxPackets: v.TxPackets, TxBytes: v.TxOctets}, err
}

func (s *rowSwitch) Queues(ports map[string]bool) ([]telemetry.Queue, error) {
	counters, err := s.Driver.Queues(ports)
	queues := make([]telemetry.Queue, len(counters))
	for i, q := range counters {
		queues[i] = telemetry.Queue{Port: q.Port, Queue: q.Queue, Watermark: q.Watermark, Packets: q.Packets, Bytes: q.Octets, Dropped: q.Dropped}
	}
	return queues, err
}

func (s *rowSwitch) Close() error { return errors.Join(s.Driver.Close(), s.Netdev.Close()) }
