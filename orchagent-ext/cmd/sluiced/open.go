// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"strings"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/orch"
	"sluice/orchagent-ext/packetio"
	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/telemetry"
	sai "sluice/sai-shim"
)

// softLibrary is the file of the software switch.
const softLibrary = "libsoftsai.so"

// Keys of the profile that sluiced sets itself, for the software switch. Other
// libraries do not ask for them.
const (
	profilePorts    = "SLUICE_PORTS"
	profileCPURate  = "SLUICE_CPU_RATE"
	profileCPUBurst = "SLUICE_CPU_BURST"
	profileCold     = "SLUICE_COLD"
)

// opener opens the switch of the command line.
type opener struct {
	ending    context.Context // of the process
	options   *options
	databases *sonicdb.Databases
	log       *slog.Logger
	watch     *libraryWatch
}

func (o *opener) open(driver orch.Driver, s *config.Snapshot, cold bool) (*orch.Switch, error) {
	if len(s.SwitchPorts) == 0 {
		return nil, errors.New("CONFIG_DB has no PORT rows: the switch is opened when there are some")
	}
	if driver == orch.Orchagent {
		return openRows(o.ending, o.databases, o.options.memory(), o.log)
	}
	if o.options.library == "" {
		return nil, errors.New("no SAI library: give its path with --sai-library or SLUICE_SAI_LIBRARY; libsoftsai.so is the software switch; or set driver=orchagent in SLUICE|global, where syncd owns the ASIC")
	}
	soft := filepath.Base(o.options.library) == softLibrary
	ports, opened := orch.Ports(s), ""
	if soft {
		if ports, opened = present(ports); len(ports) == 0 {
			return nil, errors.New("no port of PORT is a netdev in this network namespace: the switch is opened when there is one")
		}
	}
	lib, err := o.options.openLibrary(libraryUse{ports: ports, cpuRate: *s.Global.CpuRate, cpuBurst: *s.Global.CpuBurst, cold: cold, noExtension: o.watch.noExtension != "", avoid: o.watch.avoid, watcher: o.watch})
	if err != nil {
		return nil, err
	}
	sw := asic.NewSAI(lib, asic.SAIOptions{Connected: o.options.connect, Kernel: soft, Created: o.watch.Created(), Creating: o.watch.creating, Last: o.watch.Last})
	source := packetio.NewSAI(lib, sw.IfIndex, sw.Copies)
	return &orch.Switch{Driver: o.watch.driver(sw), Source: source, Hardware: &switched{SAI: sw, source: source, soft: soft, opened: opened, warm: o.options.warmFile() != "", log: o.log}, Kernel: soft, FlowControl: sw}, nil
}

// libraryUse says what a library is opened for.
type libraryUse struct {
	ports             []asic.Port
	cpuRate, cpuBurst uint32 // packets a second, packets
	cold              bool   // there are no objects of an earlier process
	noExtension       bool   // the library is not asked for it
	avoid             map[string]bool
	watcher           sai.Watcher
}

// openLibrary opens the library of the command line, with its switch.
func (o *options) openLibrary(use libraryUse) (*sai.Library, error) {
	profile := map[string]string{
		profilePorts:    portList(use.ports),
		profileCPURate:  fmt.Sprint(use.cpuRate),
		profileCPUBurst: fmt.Sprint(use.cpuBurst),
	}
	if use.cold {
		profile[profileCold] = "1"
	}
	maps.Copy(profile, o.profile)
	bootWarmBy(profile, o.warmFile(), use.cold)
	lib, err := sai.Open(o.library, profile, use.watcher)
	if err != nil {
		return nil, err
	}
	lib.NoExtension, lib.Avoid = use.noExtension, use.avoid
	if err := lib.CreateSwitch(!o.connect); err != nil {
		if missing := missingRights(ownStatus()); missing != "" {
			err = fmt.Errorf("%w; the software switch needs rights that sluiced lacks: %s", err, missing)
		}
		return nil, errors.Join(err, lib.Close(), forgetWarm(o.warmFile()))
	}
	if err := forgetWarm(o.warmFile()); err != nil {
		return nil, errors.Join(fmt.Errorf("a later start would go on by an old state: %w", err), lib.Close())
	}
	return lib, nil
}

// portList is the ports as the software switch takes them: names, with the lanes
// where there are some.
func portList(ports []asic.Port) string {
	words := make([]string, len(ports))
	for i, p := range ports {
		var lanes []string
		for _, lane := range p.Lanes {
			lanes = append(lanes, fmt.Sprint(lane))
		}
		words[i] = p.Name
		if len(lanes) > 0 {
			words[i] += ":" + strings.Join(lanes, ",")
		}
	}
	return strings.Join(words, " ")
}

// present are the ports that are netdevs of this network namespace; which says what
// these are.
func present(ports []asic.Port) (there []asic.Port, which string) {
	netdevs, err := net.Interfaces()
	if err != nil {
		return ports, "" // the library says what is wrong
	}
	index := map[string]int{}
	for _, n := range netdevs {
		index[n.Name] = n.Index
	}
	var indexes []int
	for _, p := range ports {
		if n := index[p.Name]; n != 0 {
			there, indexes = append(there, p), append(indexes, n)
		}
	}
	return there, fmt.Sprint(portList(there), indexes)
}

// switched is a switch behind a SAI library.
type switched struct {
	*asic.SAI
	source *packetio.SAI

	soft   bool   // the software switch, whose ports are those that it is opened with
	opened string // which
	ports  []asic.Port

	warm bool // the next process is to go on where this one ends
	log  *slog.Logger
}

// SetPorts implements [orch.Hardware].
func (s *switched) SetPorts(ports []asic.Port) error {
	s.ports = ports
	if s.PortsChanged() {
		return orch.ErrPorts
	}
	return s.SAI.SetPorts(ports)
}

// PortsChanged implements [orch.Hardware]: netdevs of ports have come or gone.
func (s *switched) PortsChanged() bool {
	if !s.soft {
		return false
	}
	_, now := present(s.ports)
	return now != s.opened
}

// Expect implements [orch.Hardware]: each packet says why it comes.
func (s *switched) Expect(asic.Policy, asic.Choices) {}

func (s *switched) RingFull() uint64 { return s.source.RingFull() }

func (s *switched) PortStats(name string) (*telemetry.PortStats, error) {
	v, err := s.SAI.PortStats(name)
	return &telemetry.PortStats{Name: &name, RxPackets: &v.RxPackets, RxBytes: &v.RxOctets, TxPackets: &v.TxPackets, TxBytes: &v.TxOctets}, err
}

// Queues implements [orch.Hardware]. A port that is gone, or whose library tells
// nothing of queues, has none.
func (s *switched) Queues(ports map[string]bool) ([]*telemetry.QueueStats, error) {
	var queues []*telemetry.QueueStats
	var errs []error
	for name := range ports {
		stats, err := s.QueueStats(name)
		if err != nil && !errors.Is(err, asic.ErrRefused) && !errors.Is(err, asic.ErrGone) {
			errs = append(errs, fmt.Errorf("queues of port %s: %w", name, err))
		}
		for i, v := range stats {
			number := uint8(i)
			q := &telemetry.QueueStats{
				Port: &name, Queue: &number, Packets: telemetry.Count(v[sai.QueuePackets]), Bytes: telemetry.Count(v[sai.QueueOctets]), Dropped: telemetry.Count(v[sai.QueueDropped]),
			}
			if octets, ok := v[sai.QueueOccupancy]; ok {
				q.QueuedBytes = &octets
			}
			queues = append(queues, q)
		}
	}
	return queues, errors.Join(errs...)
}

func (s *switched) Warnings() []string { return nil }
