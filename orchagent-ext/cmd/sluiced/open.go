package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/orch"
	"sluice/orchagent-ext/packetio"
	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/telemetry"
	sai "sluice/sai-shim"
)

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
	options   *options
	databases *sonicdb.Databases
	log       *slog.Logger
}

func (o *opener) open(driver orch.Driver, s *config.Snapshot, cold bool) (orch.Switch, error) {
	if len(s.SwitchPorts) == 0 {
		return nil, errors.New("CONFIG_DB has no PORT rows: the switch is opened when there are some")
	}
	if driver == orch.Orchagent {
		return openRows(o.databases, o.log)
	}
	if o.options.library == "" {
		return nil, errors.New("no SAI library: give its path with --sai-library or SLUICE_SAI_LIBRARY; libsoftsai.so is the software switch; or set driver=orchagent in SLUICE|global, where syncd owns the ASIC")
	}
	profile := map[string]string{
		profilePorts:    portList(s),
		profileCPURate:  fmt.Sprint(*s.Global.CpuRate),
		profileCPUBurst: fmt.Sprint(*s.Global.CpuBurst),
	}
	if cold {
		profile[profileCold] = "1"
	}
	maps.Copy(profile, o.options.profile)
	lib, err := sai.Open(o.options.library, profile)
	if err != nil {
		return nil, err
	}
	if err := lib.CreateSwitch(!o.options.connect); err != nil {
		if missing := missingRights(ownStatus()); missing != "" {
			err = fmt.Errorf("%w; the software switch needs rights that sluiced lacks: %s", err, missing)
		}
		return nil, errors.Join(err, lib.Close())
	}
	sw := asic.NewSAI(lib)
	return &switched{sw, packetio.NewSAI(lib, sw.IfIndex)}, nil
}

// portList is the rows of PORT as the software switch takes them: names, with
// the lanes where there are some.
func portList(s *config.Snapshot) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(s.SwitchPorts)) {
		var lanes []string
		for _, lane := range s.SwitchPorts[name].Lanes {
			lanes = append(lanes, fmt.Sprint(lane))
		}
		if len(lanes) > 0 {
			name += ":" + strings.Join(lanes, ",")
		}
		words = append(words, name)
	}
	return strings.Join(words, " ")
}

// switched is a switch behind a SAI library.
type switched struct {
	*asic.SAI
	source *packetio.SAI
}

func (s *switched) Receive(ctx context.Context, frames []packetio.Frame) (int, error) {
	return s.source.Receive(ctx, frames)
}

func (s *switched) RingFull() uint64 { return s.source.RingFull() }

func (s *switched) PortStats(name string) (telemetry.Port, error) {
	v, err := s.SAI.PortStats(name)
	return telemetry.Port{Name: name, RxPackets: v.RxPackets, RxBytes: v.RxOctets, TxPackets: v.TxPackets, TxBytes: v.TxOctets}, err
}

// Queues implements [orch.Switch]: no need of today asks a library for them.
func (s *switched) Queues(map[string]bool) ([]telemetry.Queue, error) { return nil, nil }

func (s *switched) Warnings() []string { return nil }
