// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/sim/load"
	"sluice/orchagent-ext/sim/network"
	"sluice/orchagent-ext/sim/paths"
	"sluice/orchagent-ext/sim/topology"
)

// Features are those that runs are compared by; a "+" joins several.
var Features = []string{"none", "pfc", "dcqcn", "label", "placement", "plan", "redirect", "spray", "pfcm", "advice"}

// Spec is one run.
type Spec struct {
	Topology *topology.Fabric
	Network  network.Config
	Paths    paths.Config
	Load     load.Spec
	Features []string // of Features
	Seed     uint64
	Hold     network.Hold
	Advise   network.Advise
	Limit    time.Duration // of simulated time; 0: 100 times the load's duration, at least 100 ms
	// Watch is called once in each Every of simulated time, and at the end; nil: never.
	Watch func(*View) error
	Every time.Duration
}

// Result is the sum of a run. Times are in seconds.
type Result struct {
	FCTP50      float64 `json:"fct_p50"` // from a message's begin to its last octet in order
	FCTP99      float64 `json:"fct_p99"`
	FCTMean     float64 `json:"fct_mean"`
	SlowdownP50 float64 `json:"slowdown_p50"` // of the time that an empty network takes
	SlowdownP95 float64 `json:"slowdown_p95"`
	SlowdownP99 float64 `json:"slowdown_p99"`
	// until the last message of a collective is there: the mean of all collectives
	CollectiveS  float64      `json:"collective_s"`
	SlowestS     float64      `json:"slowest_s"` // until the last message of all is there
	Groups       []float64    `json:"groups_s,omitempty"`
	Messages     uint64       `json:"messages"`
	Octets       uint64       `json:"octets"`     // of the application that arrived
	Unfinished   int          `json:"unfinished"` // messages at the limit, or at an interrupt
	Drops        uint64       `json:"drops"`
	Pauses       uint64       `json:"pauses"`
	PausedS      float64      `json:"paused_s"` // of all links, in all
	Marks        uint64       `json:"marks"`
	CNPs         uint64       `json:"cnps"`
	NAKs         uint64       `json:"naks"`
	Timeouts     uint64       `json:"timeouts"`
	Repeated     uint64       `json:"repeated"`
	PFCMs        uint64       `json:"pfcms"`
	Advices      uint64       `json:"advices"`
	Holds        uint64       `json:"holds"`
	HoldDrops    uint64       `json:"hold_drops"`
	UpWorst      float64      `json:"uplinks_worst_over_mean"`
	DownWorst    float64      `json:"downlinks_worst_over_mean"`
	DeepestQueue int64        `json:"deepest_queue_octets"`
	Paths        paths.Report `json:"decisions"`
	Events       uint64       `json:"events"`
	WallS        float64      `json:"wall_s,omitempty"` // of the machine
	SimulatedS   float64      `json:"simulated_s"`

	// octets of uplinks: by leaf, in the order that its choice counts them
	Uplinks [][]float64 `json:"uplink_octets,omitempty"`

	FCT   []Point `json:"fct,omitempty"` // the distribution, for plots
	Sizes []Size  `json:"sizes,omitempty"`
}

// Point is a part of all messages, and the time that those took at most.
type Point struct {
	Part    float64 `json:"part"`
	Seconds float64 `json:"s"`
}

// Split returns the features of a name such as "label+pfcm" with those of the base; the error
// lists the features. A name that has pfc or dcqcn has these alone in place of the base's.
func Split(name string, base []string) ([]string, error) {
	parts := strings.Split(name, "+")
	own := func(f string) bool { return f == "pfc" || f == "dcqcn" }
	all := slices.Clone(base)
	if slices.ContainsFunc(parts, own) {
		all = slices.DeleteFunc(all, own)
	}
	for _, f := range parts {
		if !slices.Contains(Features, f) {
			return nil, fmt.Errorf("feature %q: one of %s, or several joined by +", f, strings.Join(Features, ", "))
		}
		if f != "none" && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all, nil
}

// configure returns the network's configuration and the mode of paths for the features.
func (s *Spec) configure() (network.Config, paths.Mode) {
	cfg, mode := s.Network, paths.FiveTuple
	cfg.Seed = s.Seed
	for _, f := range s.Features {
		switch f {
		case "pfc":
			cfg.PFC = true
		case "dcqcn":
			cfg.ECN, cfg.DCQCN = true, true
		case "label":
			mode = max(mode, paths.Label)
		case "placement":
			mode = max(mode, paths.Placed)
		case "plan":
			mode = max(mode, paths.Planned)
		case "redirect":
			mode = paths.Redirected
		case "spray":
			cfg.Spray, cfg.Selective = true, true
		case "pfcm": // a Stream ID is of a label
			mode = max(mode, paths.Label)
			cfg.Hold = &s.Hold
		case "advice":
			mode = max(mode, paths.Label)
			cfg.Advise = &s.Advise
		}
	}
	return cfg, mode
}

// runner is a run under way.
type runner struct {
	spec    *Spec
	net     *network.Net
	chooser *paths.Chooser
	program load.Program

	open    map[paths.Connection]int32
	tags    []record // by queue pair
	later   []load.Message
	buf     []load.Message
	fct     histogram.Finest // ns
	slow    histogram.Finest // thousandths
	sizes   sizes
	left    int // messages under way or later
	arrived uint64
	last    int64
	groups  []int64
	under   []int                    // by group: messages under way or later
	pending map[int32][]load.Message // by queue pair: messages beyond those that may be under way
}

// record is the state that a run keeps of a queue pair.
type record struct {
	connection paths.Connection
	tag, group int32
	octets     int64
	ideal      int64
	due        int64 // when the message was to begin; 0: when it began
	last       bool
}

// slice is how much simulated time passes between two looks at the clock and at the context.
const slice = 20 * network.Microsecond

// Do runs to the end of the load, to the limit, or until the context ends; progress is called
// now and then with the part of the load's octets that arrived, and may be nil.
func Do(ctx context.Context, s *Spec, progress func(part float64)) (*Result, error) {
	began := time.Now()
	cfg, mode := s.configure()
	c, err := paths.New(s.Topology, mode, s.Paths, s.Load.QueuePairs)
	if err != nil {
		return nil, err
	}
	octetsPerS := float64(s.Topology.HostGbit) * 1e9 / 8
	r := &runner{spec: s, chooser: c, program: load.New(s.Load, octetsPerS, s.Seed), open: map[paths.Connection]int32{}, pending: map[int32][]load.Message{}}
	r.groups, r.under = make([]int64, r.program.Groups()), make([]int, r.program.Groups())
	if mode >= paths.Placed {
		if err := c.Settle(r.program.Connections(), s.Seed); err != nil {
			return nil, err
		}
	}
	r.net = network.New(s.Topology, cfg)
	r.net.Delivered = r.delivered
	r.net.Timer = func(i int32) { r.send(r.later[i]) }
	for _, m := range r.program.First(nil) {
		r.left++
		r.under[m.Group]++
		if m.At > 0 {
			r.later = append(r.later, m)
			r.net.At(m.At, int32(len(r.later)-1))
			continue
		}
		r.send(m)
	}
	limit := int64(s.Limit) * 1000
	if limit == 0 {
		limit = max(int64(s.Load.DurationMS*100)*network.Millisecond, 100*network.Millisecond)
	}
	total := r.program.Octets()
	step, next, seen := slice, int64(0), int64(-1)
	every := max(s.Every.Nanoseconds(), 1) * network.Nanosecond
	if s.Watch != nil {
		step = min(step, every)
	}
	for r.left > 0 && r.net.Now() < limit && ctx.Err() == nil {
		if s.Watch != nil && r.net.Now() >= next {
			if err := s.Watch(&View{r}); err != nil {
				return nil, err
			}
			next, seen = next+every, r.net.Now()
		}
		if !r.net.Run(r.net.Now() + step) {
			break
		}
		if progress != nil {
			progress(min(float64(r.net.Stats.Octets)/total, 1))
		}
	}
	if s.Watch != nil && r.net.Now() > seen {
		if err := s.Watch(&View{r}); err != nil {
			return nil, err
		}
	}
	result := r.result()
	result.WallS = time.Since(began).Seconds()
	return result, nil
}

// send begins a message, on the queue pair of its connection.
func (r *runner) send(m load.Message) {
	qp, ok := r.open[m.Connection]
	if !ok {
		path, label := r.chooser.Forward(m.Connection)
		qp = r.net.AddQP(m.Src, m.Dst, path, r.chooser.Back(m.Connection), label)
		for int(qp) >= len(r.tags) {
			r.tags = append(r.tags, record{})
		}
		r.tags[qp] = record{connection: m.Connection, ideal: r.ideal(m.Connection, path, m.Octets)}
		r.open[m.Connection] = qp
	}
	t := &r.tags[qp]
	if out := r.net.QP(qp).Outstanding(); out > 0 && (m.Octets != t.octets || m.Tag != t.tag || m.At > 0 || out >= 8) {
		r.pending[qp] = append(r.pending[qp], m) // another message, once this one is there
		return
	}
	if m.Octets != t.octets {
		path, _ := r.chooser.Forward(m.Connection)
		t.ideal = r.ideal(m.Connection, path, m.Octets)
	}
	t.tag, t.group, t.octets, t.due, t.last = m.Tag, m.Group, m.Octets, m.At, m.Last
	r.net.Send(qp, m.Octets)
}

// ideal is the time of a message alone in the network, ps.
func (r *runner) ideal(c paths.Connection, path uint32, octets int64) int64 {
	mtu := int64(r.spec.Network.MTU)
	if mtu == 0 {
		mtu = 4096
	}
	packets := (octets + mtu - 1) / mtu
	lastPacket := octets - (packets-1)*mtu + network.Headers
	t, slowest := int64(0), int64(0)
	for _, l := range r.chooser.Links(c, path) {
		link := &r.spec.Topology.Links[l]
		t += link.Delay + lastPacket*int64(link.PSPerOctet)
		slowest = max(slowest, int64(link.PSPerOctet))
	}
	return t + (packets-1)*(mtu+network.Headers)*slowest
}

// delivered takes a message that arrived.
func (r *runner) delivered(qp int32, began int64) {
	t := r.tags[qp]
	now := r.net.Now()
	r.left--
	r.under[t.group]--
	r.arrived++
	r.last = now
	if t.due > 0 { // it may have waited for the one before it
		began = t.due
	}
	slowdown := (now - began) * 1000 / max(t.ideal, 1)
	r.fct.Add(uint64(now-began) / uint64(network.Nanosecond))
	r.slow.Add(uint64(slowdown))
	r.sizes.add(t.octets, slowdown)
	r.groups[t.group] = now
	if waiting := r.pending[qp]; len(waiting) > 0 {
		r.pending[qp] = waiting[1:]
		if len(waiting) == 1 {
			delete(r.pending, qp)
		}
		r.send(waiting[0])
	} else if t.last {
		delete(r.open, t.connection)
		r.net.Release(qp)
	}
	r.buf = r.program.Arrived(r.buf[:0], t.tag)
	more := r.buf
	r.left += len(more)
	for _, m := range more {
		r.under[m.Group]++
	}
	for _, m := range more {
		r.send(m)
	}
}

// result sums up.
func (r *runner) result() *Result {
	n := r.net
	fct := func(part float64) float64 { return float64(r.fct.Quantile(part)) / 1e9 }
	x := &Result{
		FCTP50: fct(0.5), FCTP99: fct(0.99), FCTMean: float64(r.fct.Sum) / 1e9 / float64(max(r.fct.Count, 1)),
		SlowdownP50: times(&r.slow, 0.5), SlowdownP95: times(&r.slow, 0.95), SlowdownP99: times(&r.slow, 0.99), Sizes: r.sizes.report(),
		SlowestS: float64(r.last) / 1e12, Messages: r.arrived, Octets: n.Stats.Octets, Unfinished: r.left,
		Drops: n.Stats.Drops, Pauses: n.Stats.Pauses, Marks: n.Stats.Marks, CNPs: n.Stats.CNPs, NAKs: n.Stats.NAKs, Timeouts: n.Stats.Timeouts, Repeated: n.Stats.Repeated,
		PFCMs: n.Stats.PFCMs, Advices: n.Stats.Advices, Holds: n.Stats.Holds, HoldDrops: n.Stats.HoldDrops,
		Paths: r.chooser.Report(), Events: n.Stats.Events, SimulatedS: float64(n.Now()) / 1e12,
	}
	for g, at := range r.groups {
		if r.under[g] > 0 { // it takes at least until now
			at = n.Now()
		}
		x.Groups = append(x.Groups, float64(at)/1e12)
		x.CollectiveS += float64(at) / 1e12 / float64(len(r.groups))
	}
	if r.left > 0 {
		x.SlowestS = x.SimulatedS
	}
	for _, p := range []float64{0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1} {
		x.FCT = append(x.FCT, Point{p, fct(p)})
	}
	topo := r.spec.Topology
	var ups, downs []float64
	for leaf := range topo.Leaves {
		x.Uplinks = append(x.Uplinks, nil)
		for _, l := range topo.Ups[leaf] {
			x.Uplinks[leaf] = append(x.Uplinks[leaf], float64(n.Link(int(l)).Octets))
			ups = append(ups, float64(n.Link(int(l)).Octets))
			downs = append(downs, float64(n.Link(int(l)+1).Octets)) // the way back is the next link
		}
	}
	x.UpWorst, x.DownWorst = worstOverMean(ups), worstOverMean(downs)
	for i := range topo.Links {
		l := n.Link(i)
		x.DeepestQueue = max(x.DeepestQueue, l.Deepest)
		x.PausedS += float64(l.Paused) / 1e12
	}
	return x
}

// worstOverMean is 1 for even loads; 0 without load.
func worstOverMean(loads []float64) float64 {
	sum, most := 0.0, 0.0
	for _, l := range loads {
		sum += l
		most = math.Max(most, l)
	}
	if sum == 0 {
		return 0
	}
	return most * float64(len(loads)) / sum
}
