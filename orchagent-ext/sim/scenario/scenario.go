// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"sluice/orchagent-ext/sim/load"
	"sluice/orchagent-ext/sim/network"
	"sluice/orchagent-ext/sim/paths"
	"sluice/orchagent-ext/sim/run"
	"sluice/orchagent-ext/sim/topology"
)

// Scenario is a file of the operator. The zero value of a field means its default.
type Scenario struct {
	Title    string         `yaml:"title"`
	Fabric   topology.Shape `yaml:"fabric"`
	Adapters Adapters       `yaml:"adapters"`
	Switches Switches       `yaml:"switches"`
	Paths    paths.Config   `yaml:"paths"`
	Hold     Hold           `yaml:"hold"`
	Advise   Advise         `yaml:"advise"`
	Loads    []load.Spec    `yaml:"loads"`
	Base     []string       `yaml:"base"` // features of each run; pfc and dcqcn
	// runs of each load; none, label, placement and redirect
	Compare []string `yaml:"compare"`
	Seed    uint64   `yaml:"seed"` // 1
	LimitMS float64  `yaml:"limit_ms"`

	topo *topology.Fabric
}

// Adapters are the hosts' adapters.
type Adapters struct {
	MTU       int     `yaml:"mtu"`        // payload of a full packet, octets; 4096
	AckEvery  int     `yaml:"ack_every"`  // unacknowledged packets; 4
	WindowKiB int64   `yaml:"window_kib"` // of a queue pair; 0: unlimited
	TimeoutUS float64 `yaml:"timeout_us"` // 4194, the Local ACK Timeout 10
	Recovery  string  `yaml:"recovery"`   // go-back-n or selective-repeat
}

// Switches are all switches of the fabric.
type Switches struct {
	BufferMiB float64 `yaml:"buffer_mib"` // shared by the ports of a switch; 32
	Alpha     float64 `yaml:"alpha"`      // of dynamic thresholds; 1
	ECNMinKB  float64 `yaml:"ecn_min_kb"` // at 40 Gbit/s, in proportion elsewhere; 5
	ECNMaxKB  float64 `yaml:"ecn_max_kb"` // 200
	ECNMax    float64 `yaml:"ecn_max_probability"`

	Marks  string  `yaml:"marks"`         // exact, or sampled, as ASICs of today
	ReadUS float64 `yaml:"read_us"`       // sampled: between two readings of a queue's depth; 10000
	OneIn  int     `yaml:"sample_one_in"` // sampled: packets; 1000
}

// Files reads a capture or an IPFIX file, for a replay.
type Files func(name string) ([]load.Seen, error)

// Read decodes a scenario and fills in its defaults. An unknown key is an error that names its
// line. files may be nil where no load is a replay.
func Read(r io.Reader, files Files) (*Scenario, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	s := &Scenario{}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(s); err != nil && !errors.Is(err, io.EOF) {
		return nil, explain(err)
	}
	for i := range s.Loads {
		if l := &s.Loads[i]; l.File != "" && files != nil {
			if l.Trace, err = files(l.File); err != nil {
				return nil, fmt.Errorf("load %d: %w", i+1, err)
			}
		}
	}
	return s, s.fill()
}

// fill sets defaults, and returns an error for the first bad value.
func (s *Scenario) fill() (err error) {
	if s.topo, err = topology.New(s.Fabric); err != nil {
		return fmt.Errorf("fabric: %w", err)
	}
	s.Fabric = s.topo.Shape
	if s.Base == nil {
		s.Base = []string{"pfc", "dcqcn"}
	}
	if s.Compare == nil {
		s.Compare = []string{"none", "label", "placement", "redirect"}
	}
	if s.Seed == 0 {
		s.Seed = 1
	}
	if len(s.Loads) == 0 {
		return errors.New("loads: there is none; a load has at least a kind, such as kind: ring")
	}
	names := map[string]bool{}
	for i := range s.Loads {
		l := &s.Loads[i]
		if err := l.Fill(s.Fabric.Hosts); err != nil {
			return fmt.Errorf("load %d: %w", i+1, err)
		}
		if names[l.Name] {
			return fmt.Errorf("load %d: the name %q is used twice", i+1, l.Name)
		}
		names[l.Name] = true
	}
	if !slices.Contains([]string{"", "go-back-n", "selective-repeat"}, s.Adapters.Recovery) {
		return fmt.Errorf("adapters: recovery %q: go-back-n or selective-repeat", s.Adapters.Recovery)
	}
	if !slices.Contains([]string{"", "exact", "sampled"}, s.Switches.Marks) {
		return fmt.Errorf("switches: marks %q: exact or sampled", s.Switches.Marks)
	}
	for _, f := range s.Base {
		if _, err := run.Split(f, nil); err != nil {
			return fmt.Errorf("base: %w", err)
		}
	}
	if err := s.SetCompare(s.Compare); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if _, err := paths.New(s.topo, paths.FiveTuple, s.Paths, 1); err != nil {
		return fmt.Errorf("paths: %w", err)
	}
	if err := s.check(); err != nil {
		return err
	}
	a, w := &s.Adapters, &s.Switches
	for name, v := range map[string]float64{
		"mtu": float64(a.MTU), "ack_every": float64(a.AckEvery), "window_kib": float64(a.WindowKiB), "timeout_us": a.TimeoutUS,
		"buffer_mib": w.BufferMiB, "alpha": w.Alpha, "ecn_min_kb": w.ECNMinKB, "ecn_max_kb": w.ECNMaxKB, "ecn_max_probability": w.ECNMax, "limit_ms": s.LimitMS,
		"read_us": w.ReadUS, "sample_one_in": float64(w.OneIn),
	} {
		if v < 0 {
			return fmt.Errorf("%s is %g: it cannot be below 0", name, v)
		}
	}
	if a.MTU != 0 && (a.MTU < 256 || a.MTU > 9000) {
		return fmt.Errorf("adapters: mtu %d: 256 to 9000 are possible", a.MTU)
	}
	return nil
}

// SetCompare sets the features that each load runs with; the error names one that is unknown.
func (s *Scenario) SetCompare(features []string) error {
	for _, f := range features {
		if _, err := run.Split(f, nil); err != nil {
			return err
		}
	}
	s.Compare = features
	return nil
}

// Topology is the fabric.
func (s *Scenario) Topology() *topology.Fabric { return s.topo }

// network is the configuration of the network, without features.
func (s *Scenario) network() network.Config {
	a, w := &s.Adapters, &s.Switches
	var estimate *network.Sampled
	if w.Marks == "sampled" {
		estimate = &network.Sampled{Every: int64(us(w.ReadUS, 10_000)) * network.Nanosecond, OneIn: cmp.Or(w.OneIn, 1000)}
	}
	return network.Config{
		Sampled: estimate,
		MTU:     a.MTU, AckEvery: a.AckEvery, Window: a.WindowKiB << 10, Timeout: int64(a.TimeoutUS * 1e6), Selective: a.Recovery == "selective-repeat",
		Buffer: int64(w.BufferMiB * (1 << 20)), Alpha: w.Alpha, KMin: int64(w.ECNMinKB * 1000), KMax: int64(w.ECNMaxKB * 1000), PMax: w.ECNMax,
	}
}

// Run is the run of a load with a feature, or several joined by "+".
func (s *Scenario) Run(l load.Spec, feature string) (*run.Spec, error) {
	features, err := run.Split(feature, s.Base)
	if err != nil {
		return nil, err
	}
	return &run.Spec{
		Topology: s.topo, Network: s.network(), Paths: s.Paths, Load: l, Features: features, Seed: s.Seed, Hold: s.hold(), Advise: s.advise(),
		Limit: time.Duration(s.LimitMS * 1e6),
	}, nil
}

// Example is the scenario that `sluice sim` runs without a file.
//
//go:embed example.yaml
var Example []byte
