// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/control"
	"sluice/orchagent-ext/daemon/loop"
	"sluice/orchagent-ext/daemon/settings"
	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/host/machine"
	"sluice/orchagent-ext/host/portlock"
	"sluice/orchagent-ext/switch/audit"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/gate"
	"sluice/orchagent-ext/switch/saidriver"
	"sluice/orchagent-ext/switch/trust"
	sai "sluice/sai-shim"
)

// SoftLibrary is the file of the software switch.
const SoftLibrary = "libsoftsai.so"

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
	options   *Options
	databases *sonicdb.Databases
	log       *slog.Logger
	guard     *trust.Guard
	gate      *gate.Gate      // of all libraries, of which one is open at a time
	locks     *portlock.Locks // of the ports of the software switch
}

// open opens the switch by a driver. It is an error without ports: SONiC has yet to load
// them.
func (o *opener) open(want loop.Opening) (*loop.Switch, error) {
	if len(want.Ports) == 0 {
		return nil, errors.New("CONFIG_DB has no PORT rows: the switch opens once there are some")
	}
	if want.Driver == settings.Orchagent {
		return o.openRows()
	}
	if o.options.Library == "" {
		return nil, errors.New("no SAI library: give its path with --sai-library or SLUICE_SAI_LIBRARY; libsoftsai.so is the software switch; or set driver=orchagent in SLUICE|global, where syncd owns the ASIC")
	}
	soft := filepath.Base(o.options.Library) == SoftLibrary
	ports, opened := want.Ports, ""
	if soft {
		if err := cmp.Or(machine.CheckKernel(machine.Running()), machine.CheckSoftwareSwitch(machine.ASIC("/"), o.options.Profile)); err != nil {
			return nil, err
		}
		if ports, opened = present(ports); len(ports) == 0 {
			return nil, errors.New("no port of PORT is a netdev in this network namespace: the switch opens once one is")
		}
		if err := o.locks.Take(names(ports)); err != nil {
			return nil, err
		}
	}
	lib, err := o.options.openLibrary(libraryUse{ports: ports, cpu: want.CPU, cold: want.Cold, noExtension: o.guard.NoExtension(), avoid: o.guard.Avoid(), watcher: o.guard})
	if err != nil {
		return nil, err
	}
	lib.TakeTurns(o.gate.At(context.Background(), gate.Programming))
	sw := saidriver.New(lib, saidriver.Options{Connected: o.options.Connect, Kernel: soft, Created: o.guard.Created(), Creating: o.guard.Creating(), Last: o.guard.Last})
	source := packetio.NewSAI(lib, sw.Ports.IfIndex, sw.CPU.Copies)
	hardware := &switched{Driver: sw, source: source, opened: opened, statistics: lib.Beside(o.gate.At(context.Background(), gate.Statistics)), warm: o.options.warmFile() != "", log: o.log}
	var below audit.System // that of other libraries is not known
	if soft {
		below = lib
		hardware.locks = o.locks
		hardware.reload = func(ports []engine.Port) error {
			if err := o.locks.Take(names(ports)); err != nil {
				return err
			}
			return lib.ReloadPorts(profilePorts, portList(ports))
		}
	}
	return &loop.Switch{
		Driver: o.guard.Driver(sw), Source: source, Hardware: hardware, Kernel: soft, Turns: o.gate, System: below,
		Control: control.Switch{Library: lib.Beside(o.gate.At(context.Background(), gate.Holds)), Ports: sw.Ports, Depths: depths(lib, o.gate)},
	}, nil
}

// libraryUse is the purpose for which a library is opened.
type libraryUse struct {
	ports       []engine.Port
	cpu         engine.CPU // packets that it gives to the CPU at most
	cold        bool       // there are no objects of an earlier process
	noExtension bool       // the library is not asked for it
	avoid       map[string]bool
	watcher     sai.Watcher
}

// openLibrary opens the library of the command line, with its switch.
func (o *Options) openLibrary(use libraryUse) (*sai.Library, error) {
	profile := map[string]string{
		profilePorts:    portList(use.ports),
		profileCPURate:  fmt.Sprint(use.cpu.Rate),
		profileCPUBurst: fmt.Sprint(use.cpu.Burst),
	}
	if use.cold {
		profile[profileCold] = "1"
	}
	maps.Copy(profile, o.Profile)
	delete(profile, machine.KernelForwards) // it is for sluiced
	bootWarmBy(profile, o.warmFile(), use.cold)
	lib, err := sai.Open(o.Library, profile, use.watcher)
	if err != nil {
		return nil, err
	}
	lib.NoExtension, lib.Avoid = use.noExtension, use.avoid
	if err := lib.CreateSwitch(!o.Connect); err != nil {
		if missing := machine.MissingRights(machine.OwnStatus()); missing != "" {
			err = fmt.Errorf("%w; the software switch needs rights that sluiced lacks: %s", err, missing)
		}
		return nil, errors.Join(err, lib.Close(), forgetWarm(o.warmFile()))
	}
	if err := forgetWarm(o.warmFile()); err != nil {
		return nil, errors.Join(fmt.Errorf("a later start would use an outdated state: %w", err), lib.Close())
	}
	return lib, nil
}

// portList is the ports as the software switch takes them: names, with the lanes
// where there are some.
func portList(ports []engine.Port) string {
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

// names returns the names of ports.
func names(ports []engine.Port) []string {
	all := make([]string, len(ports))
	for i, p := range ports {
		all[i] = p.Name
	}
	return all
}

// present are the ports that are netdevs of this network namespace; which has the reason that
// these are.
func present(ports []engine.Port) (there []engine.Port, which string) {
	var indexes []uint32
	err := machine.AskNetdevs(names(ports), unix.SIOCGIFINDEX, func(i int, r *unix.Ifreq) {
		there, indexes = append(there, ports[i]), append(indexes, r.Uint32())
	})
	if err != nil {
		return ports, "" // the library reports the fault
	}
	return there, fmt.Sprint(portList(there), indexes)
}

// switched is a switch behind a SAI library.
type switched struct {
	*saidriver.Driver
	source     *packetio.SAI
	statistics *sai.Library // the handle of counters
	counters   *counters    // nil before the first

	// gives the software switch, whose ports are netdevs, others; nil: it is another
	reload func([]engine.Port) error
	opened string // the ports that it has
	locks  *portlock.Locks
	ports  []engine.Port

	warm bool // the next process is to go on where this one ends
	log  *slog.Logger
}

// SetPorts implements [loop.Hardware].
func (s *switched) SetPorts(ports []engine.Port) (reloaded bool, err error) {
	s.ports = ports
	if s.reload != nil {
		there, now := present(ports)
		if reloaded = now != s.opened; reloaded {
			if err := s.reload(there); err != nil {
				return false, fmt.Errorf("%w: %w", loop.ErrPorts, err)
			}
			s.opened = now
		}
	}
	return reloaded, s.Ports.Set(ports)
}

// PortsChanged implements [loop.Hardware]: netdevs of ports have come or gone.
func (s *switched) PortsChanged() bool {
	if s.reload == nil {
		return false
	}
	_, now := present(s.ports)
	return now != s.opened
}

// Expect implements [loop.Hardware]: each packet has its reason.
func (s *switched) Expect(engine.Policy, engine.Choices) {}

// SampleRate implements [loop.Hardware].
func (s *switched) SampleRate() uint32 { return 0 }

// PortName implements [loop.Hardware].
func (s *switched) PortName(number uint64) string { return s.Ports.PortName(number) }

// Lost implements [loop.Hardware].
func (s *switched) Lost() loop.Lost {
	return loop.Lost{RingFull: s.source.RingFull(), Policed: s.CPU.Policed(), Discarded: s.CPU.Discards()}
}

// Counters implements [loop.Hardware]: the reader of before for the same ports, which knows their
// queues.
func (s *switched) Counters() statistics.Switch {
	if s.counters == nil || !s.counters.SamePorts(s.Ports) {
		s.counters = &counters{s.Ports.Counters(s.statistics)}
	}
	return s.counters
}

// PortStats implements [loop.Hardware].
func (s *switched) PortStats(name string) *telemetry.PortStats {
	return portRow(name, s.Ports.PortStats([]string{name})[0])
}

// Warnings implements the daemon's interface of a switch.
func (s *switched) Warnings() []string { return nil }
