// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"fmt"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/sim/topology"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/wire/roce"
)

// Mode is how paths are chosen.
type Mode uint8

// The modes.
const (
	FiveTuple  Mode = iota // the switches hash addresses and ports
	Label                  // and a flow label computed from the queue pairs
	Placed                 // leaves choose labels, each for its own uplinks
	Planned                // leaves choose labels by quotas of one plan for the fabric
	Redirected             // leaves have rules for single 5-tuples; others by hash
)

// Config has the operator's choices.
type Config struct {
	Hash      string   `yaml:"hash"`  // linux, crc32 or crc16
	Seeds     []uint32 `yaml:"seeds"` // of the linux hash by tier: leaf, spine, border; 1, 2, 3
	Ports     string   `yaml:"source_ports"`
	Algorithm string   `yaml:"label_algorithm"` // draft-literal or crc32
	// flows of a leaf that can have a placed label; 10000
	Entries      int     `yaml:"entries"`
	Rules        int     `yaml:"rules"`         // rules to next hops of a leaf; 256
	SamplesPerS  int     `yaml:"samples_per_s"` // packets that a leaf samples; 1000
	SettleS      float64 `yaml:"settle_s"`      // how long rules are decided before the run; 6
	queuePairs   int
	perQueuePair bool
	algorithm    flow.Algorithm
}

// Connection is one direction of a queue pair: the K-th between two hosts.
type Connection struct{ Src, Dst, K int }

// Chooser chooses paths. It belongs to one goroutine.
type Chooser struct {
	cfg    Config
	mode   Mode
	topo   *topology.Fabric
	hashes [3]ecmp.Hash
	placed []*placement.Table // by leaf
	rules  []*redirect.Table
	forced map[Connection]int // by 5-tuple: the uplink that a rule has chosen
	report Report
}

// Report sums up decisions.
type Report struct {
	Placed   int     `json:"placed"`            // connections with a label that was chosen
	Rules    int     `json:"rules"`             // rules to next hops
	PlanUp   float64 `json:"plan_up,omitempty"` // max ÷ mean of uplinks, as planned
	PlanDown float64 `json:"plan_down,omitempty"`
}

// New returns a chooser. queuePairs is how many each two hosts have. The error names a setting
// that is unknown.
func New(topo *topology.Fabric, mode Mode, cfg Config, queuePairs int) (*Chooser, error) {
	if cfg.Hash == "" {
		cfg.Hash = "linux"
	}
	if cfg.Algorithm == "" {
		cfg.Algorithm = "crc32"
	}
	if cfg.Entries == 0 {
		cfg.Entries = 10000
	}
	if cfg.Rules == 0 {
		cfg.Rules = 256
	}
	if cfg.SamplesPerS == 0 {
		cfg.SamplesPerS = 1000
	}
	if cfg.SettleS == 0 {
		cfg.SettleS = 6
	}
	cfg.queuePairs = queuePairs
	switch cfg.Ports {
	case "", "fixed":
	case "queue-pair":
		cfg.perQueuePair = true
	default:
		return nil, fmt.Errorf("source_ports %q: fixed or queue-pair", cfg.Ports)
	}
	if err := cfg.algorithm.UnmarshalText([]byte(cfg.Algorithm)); err != nil {
		return nil, fmt.Errorf("label_algorithm: %w", err)
	}
	c := &Chooser{cfg: cfg, mode: mode, topo: topo, forced: map[Connection]int{}}
	for i := range c.hashes {
		h, err := ecmp.Parse(cfg.Hash)
		if err != nil {
			return nil, err
		}
		if l, ok := h.(ecmp.Linux); ok {
			l.Seed = uint32(i + 1)
			if i < len(cfg.Seeds) {
				l.Seed = cfg.Seeds[i]
			}
			h = l
		}
		c.hashes[i] = h
	}
	return c, nil
}

// queuePairNumber is the number of the K-th queue pair of a host to another one: adapters
// count them.
func (c *Chooser) queuePairNumber(peer, k int) uint32 {
	return uint32(0x40 + peer*c.cfg.queuePairs + k)
}

// tuple returns the fields of a connection's packets, without a label.
func (c *Chooser) tuple(n Connection) ecmp.Tuple {
	t := ecmp.Tuple{Src: c.topo.Address(n.Src), Dst: c.topo.Address(n.Dst), Proto: 17, SrcPort: 49152, DstPort: roce.UDPPort}
	if c.cfg.perQueuePair {
		t.SrcPort = roce.LinuxSourcePort(c.queuePairNumber(n.Dst, n.K), c.queuePairNumber(n.Src, n.K))
	}
	return t
}

// label is the flow label that a leaf computes for a connection.
func (c *Chooser) label(n Connection) uint32 {
	return c.cfg.algorithm.Label(c.queuePairNumber(n.Dst, n.K), c.queuePairNumber(n.Src, n.K), c.topo.Address(n.Src).As16(), c.topo.Address(n.Dst).As16())
}

// flowOf is a connection as placement knows it.
func (c *Chooser) flowOf(n Connection) placement.Flow {
	t := c.tuple(n)
	return placement.Flow{Src: t.Src, Dst: t.Dst, DestQP: c.queuePairNumber(n.Src, n.K), SrcPort: t.SrcPort}
}

// fiveTuple is the first connection with the same 5-tuple.
func (c *Chooser) fiveTuple(n Connection) Connection {
	if !c.cfg.perQueuePair {
		n.K = 0
	}
	return n
}

// Forward returns the path of the packets of a connection, and its flow label (0: none).
func (c *Chooser) Forward(n Connection) (path, label uint32) {
	from, to := c.topo.Leaf(n.Src), c.topo.Leaf(n.Dst)
	if c.mode != FiveTuple && c.mode != Redirected {
		label = c.label(n)
		if c.placed != nil {
			if l, _, ok := c.placed[from].Label(c.flowOf(n)); ok {
				label = l
			}
		}
	}
	up := -1
	if c.mode == Redirected {
		if f, ok := c.forced[c.fiveTuple(n)]; ok {
			up = f
		}
	}
	return c.hashed(n, from, to, label, up), label
}

// Back returns the path of acknowledgements: by hash, with the label of their own direction
// where leaves write labels.
func (c *Chooser) Back(n Connection) uint32 {
	r := Connection{n.Dst, n.Src, n.K}
	label := uint32(0)
	if c.mode != FiveTuple && c.mode != Redirected {
		label = c.label(r)
	}
	return c.hashed(r, c.topo.Leaf(r.Src), c.topo.Leaf(r.Dst), label, -1)
}

// hashed returns the path that the switches' hashes choose, tier by tier. up is the first
// choice where a rule makes it, else -1.
func (c *Chooser) hashed(n Connection, from, to int, label uint32, up int) uint32 {
	pair := c.topo.Pair(from, to)
	if from == to {
		return pair.First
	}
	t := c.tuple(n)
	t.FlowLabel = label
	var choice [3]int
	for i, h := range c.hashes {
		choice[i] = h.Path(t, label != 0, int(pair.Choices[i]))
	}
	if up >= 0 {
		choice[0] = up
	}
	return pair.Path(choice)
}

// QueuePairs returns the numbers of a connection's queue pairs: of the receiver, and of the sender.
func (c *Chooser) QueuePairs(n Connection) (dst, src uint32) {
	return c.queuePairNumber(n.Src, n.K), c.queuePairNumber(n.Dst, n.K)
}

// SourcePort returns the UDP source port of a connection.
func (c *Chooser) SourcePort(n Connection) uint16 { return c.tuple(n).SrcPort }

// Placed returns what a leaf's choice of labels is, and false where it chooses none.
func (c *Chooser) Placed(leaf int) (placement.Report, bool) {
	if c.placed == nil {
		return placement.Report{}, false
	}
	return c.placed[leaf].Report(), true
}

// Report returns the sum of decisions.
func (c *Chooser) Report() Report { return c.report }
