// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"math"
	"net/netip"
	"testing"

	"sluice/orchagent-ext/cli/ways"
	"sluice/orchagent-ext/spread/ecmp"
)

// ready is a machine with nothing to do: all rights, a kernel and hash for placement.
func ready() *Machine {
	return &Machine{
		Tool: "0.1.0", Installed: "0.1.0", Release: "6.12.0", ProcessStatus: "CapEff:\t000001ffffffffff\n", ClockError: 100,
		Hash:       ecmp.Kernel{Seed: 1, Policy: ecmp.PolicyFields, Fields: ecmp.FiveTuple | ecmp.FieldLabel},
		State:      map[string]string{"state": "running", "version": "0.1.0"},
		Capability: map[string]string{"flow_label_method": "compute", "flow_label_state": "active"},
	}
}

// level returns the level of a check; "" for one that was left out.
func level(all []Verdict, check string) Level {
	for _, v := range all {
		if v.Check == check {
			return v.Level
		}
	}
	return ""
}

func TestReadyMachineHasNothingToDo(t *testing.T) {
	all := Judge(Facts{Machine: ready()})
	for _, v := range all {
		if v.Level != OK {
			t.Errorf("%+v", v)
		}
	}
	if found := "sluice 0.1.0; sluiced 0.1.0 is installed; sluiced 0.1.0 runs"; all[0].Check != "version" || all[0].Found != found {
		t.Errorf("%+v, want %s", all[0], found)
	}
	if len(all) != 9 {
		t.Errorf("%d checks: %+v", len(all), all)
	}
}

// TestVersionOfWhatDoesNotRunIsNoFault: a tool alone, and a sluiced that is silent, whose version is old.
func TestVersionOfWhatDoesNotRunIsNoFault(t *testing.T) {
	alone, silent := ready(), ready()
	alone.Installed, alone.State = "", nil
	silent.Installed, silent.Stale = "0.2.0", errors.New("stale")
	for want, m := range map[string]*Machine{"sluice 0.1.0": alone, "sluice 0.1.0; sluiced 0.2.0 is installed": silent} {
		if v := Judge(Facts{Machine: m})[0]; v.Level != OK || v.Found != want {
			t.Errorf("%+v, want %s", v, want)
		}
	}
}

func TestJudgeFindsOneFault(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(m *Machine)
		check  string
		want   Level
	}{
		"not restarted":           {func(m *Machine) { m.Installed = "0.2.0" }, "version", Note},
		"tool of another release": {func(m *Machine) { m.Tool, m.Installed = "0.2.0", "" }, "version", Note},
		"kernel of Debian 12":     {func(m *Machine) { m.Release = "6.1.0-25-amd64" }, "kernel", Act},
		"kernel without a seed":   {func(m *Machine) { m.Release = "6.8.0" }, "kernel", Note},
		"no release":              {func(m *Machine) { m.Release = "" }, "kernel", Unknown},
		"hash without label":      {func(m *Machine) { m.Hash.Fields = ecmp.FiveTuple }, "hash", Act},
		"random seed":             {func(m *Machine) { m.Hash.Seed = 0 }, "hash", Note},
		"unreadable hash":         {func(m *Machine) { m.HashError = errors.New("no file") }, "hash", Unknown},
		"no rights":               {func(m *Machine) { m.ProcessStatus = "CapEff:\t0000000000000000\n" }, "rights", Note},
		"no status":               {func(m *Machine) { m.ProcessStatus = "" }, "rights", Unknown},
		"clock on its own":        {func(m *Machine) { m.ClockError = -1 }, "clock", Act},
		"clock far off":           {func(m *Machine) { m.ClockError = 300_000 }, "clock", Note},
		"ASIC of syncd":           {func(m *Machine) { m.ASIC, m.Syncd = "broadcom", true }, "asic", Act},
		"ASIC without syncd":      {func(m *Machine) { m.ASIC = "broadcom" }, "asic", Note},
		"ASIC by orchagent":       {func(m *Machine) { m.ASIC, m.Syncd, m.Driver = "broadcom", true, "orchagent" }, "asic", OK},
		"virtual switch":          {func(m *Machine) { m.ASIC, m.Syncd = "vs", true }, "asic", OK},
		"no databases":            {func(m *Machine) { m.DatabaseError = errors.New("no file") }, "databases", Act},
		"no sluiced":              {func(m *Machine) { m.State = nil }, "sluiced", Note},
		"silent sluiced":          {func(m *Machine) { m.Stale = errors.New("stale") }, "sluiced", Act},
		"sluiced that waits":      {func(m *Machine) { m.State["state"] = "waiting" }, "sluiced", Act},
		"sluiced with a warning":  {func(m *Machine) { m.State["warnings"] = "w" }, "sluiced", Note},
		"no method of flow label": {func(m *Machine) { m.Capability["flow_label_state"] = "none" }, "capability", Note},
	} {
		m := ready()
		tt.change(m)
		all := Judge(Facts{Machine: m})
		if got := level(all, tt.check); got != tt.want {
			t.Errorf("%s: %s is %q, want %q", name, tt.check, got, tt.want)
		}
		for _, v := range all {
			if v.Check != tt.check && v.Level != OK {
				t.Errorf("%s: also %+v", name, v)
			}
			if v.Level == Act && v.Do == "" {
				t.Errorf("%s: %s says nothing to do", name, v.Check)
			}
		}
	}
}

// pass adds packets of queue pairs, each with the port that port returns for it.
func pass(to *Traffic, v4 bool, queuePairs, packets int, port func(qp int) uint16) {
	src, dst := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	if v4 {
		src, dst = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	}
	for qp := range queuePairs {
		n := uint64(packets / queuePairs)
		to.AddFlow(&ways.Flow{Src: src, Dst: dst, SrcPort: port(qp), DestQP: uint32(qp + 1), IPv4: v4, Packets: n, Counted: n, Load: n})
	}
}

func TestTrafficDecidesWhetherLabelsHelp(t *testing.T) {
	one := func(int) uint16 { return 49152 }
	each := func(qp int) uint16 { return 49152 + uint16(qp) }
	for name, tt := range map[string]struct {
		v4, mixed  bool
		queuePairs int
		port       func(int) uint16
		want       Level
	}{
		"one port, IPv6":         {false, false, 64, one, Act},
		"one port, IPv4":         {true, false, 64, one, Act},
		"one port, both":         {true, true, 64, one, Act},
		"a port each":            {false, false, 64, each, OK},
		"four ports of 64":       {false, false, 64, func(qp int) uint16 { return uint16(qp % 4) }, Act},
		"one queue pair":         {false, false, 1, one, OK},
		"one queue pair of IPv4": {true, false, 1, one, OK},
	} {
		var traffic Traffic
		pass(&traffic, tt.v4, tt.queuePairs, 640, tt.port)
		if tt.mixed {
			pass(&traffic, false, tt.queuePairs, 640, tt.port)
		}
		all := Judge(Facts{Traffic: &traffic})
		if got := level(all, "ports"); got != tt.want {
			t.Errorf("%s: %q, want %q: %+v", name, got, tt.want, all)
		}
		if labels := level(all, "label"); (labels == "") != (tt.v4 && !tt.mixed) {
			t.Errorf("%s: label %q", name, labels)
		}
	}
	if got := level(Judge(Facts{Traffic: &Traffic{}}), "traffic"); got != Unknown {
		t.Errorf("no packets: %q", got)
	}
}

func TestEntropyIsThatOfShannon(t *testing.T) {
	var traffic Traffic
	pass(&traffic, false, 8, 800, func(qp int) uint16 { return uint16(qp % 2) })
	e := traffic.Entropy()
	if e.HostPairs != 1 || e.MostPorts != 2 || e.LeastPorts != 2 || e.QueuePairs != 8 || math.Abs(e.PortBits-1) > 1e-9 || math.Abs(e.QueuePairBits-3) > 1e-9 {
		t.Errorf("%+v", e)
	}
}

// TestTrafficIsBounded: ports beyond the bound are counted as left out.
func TestTrafficIsBounded(t *testing.T) {
	var traffic Traffic
	pass(&traffic, false, maxEach+10, maxEach+10, func(qp int) uint16 { return uint16(qp) })
	if traffic.Packets != maxEach+10 || traffic.Uncounted != 10 || level(Judge(Facts{Traffic: &traffic}), "traffic") != Note {
		t.Errorf("%d packets, %d uncounted", traffic.Packets, traffic.Uncounted)
	}
}
