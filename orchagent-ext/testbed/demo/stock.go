// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/queuepairs"
	"sluice/yang/rows"
)

// The scenario stock: a leaf with the limits of an ASIC, and queue pairs that have a source port
// each, as adapters give them. No label is written: entries send flows to next hops.
const (
	stockUplinks = 8
	stockFlows   = 64
	stockPort    = 49152
	stockRate    = 40000 // packets a second, of all flows

	stockASIC = "# an ASIC of today\nrule_ms=15\nentries=2048\nsamples=10000\ncounters_ms=50\n"
	stockTry  = 2 * time.Second // for entries to be removed
)

// stocked is the network of the scenario, with its traffic.
type stocked struct {
	*fabric.LeafSpine
	plane *plane
	v6    bool
	load  *queuepairs.Load
}

// runStock shows placement by entries on a leaf with the limits of a stock ASIC, whose
// ECMP hashes the 5-tuple of both families (fib_multipath_hash_fields 55: addresses,
// protocol and ports).
func runStock(ctx context.Context, f *fabric.Fabric, c Config, folder string, say say) (_ result, err error) {
	say("network: host A – leaf == %d uplinks == spine – host B; the leaf is an ASIC: 15 ms a rule, 2048 entries, 10,000 samples a second", stockUplinks)
	network, err := f.LeafSpine(stockUplinks)
	if err != nil {
		return nil, err
	}
	for _, family := range []string{"ipv4", "ipv6"} { // ECMP hashes the 5-tuple, as ASICs do
		for name, value := range map[string]string{"fib_multipath_hash_policy": "3", "fib_multipath_hash_fields": "55", "conf.all.ignore_routes_with_linkdown": "1"} {
			if err := network.Leaf.Sysctl("net."+family+"."+name, value); err != nil {
				return nil, err
			}
		}
		for _, u := range network.Uplinks {
			if err := network.Leaf.Sysctl("net."+family+".conf."+u.Name+".ignore_routes_with_linkdown", "1"); err != nil {
				return nil, err
			}
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	asic := filepath.Join(folder, "asic")
	if err := os.WriteFile(asic, []byte(stockASIC), 0o600); err != nil {
		return nil, err
	}
	at := site{node: network.Leaf, log: "sluiced-stock.log", rows: portRows(network), profile: []string{"SLUICE_ASIC=" + asic}}
	outer := ctx
	p, ctx, err := startPlane(ctx, c, folder, at)
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return nil, reason(ctx, err)
	}
	r := &stockReport{Stock: stockFigures{Placement: map[string]*stockRun{}}, full: c.Full}
	families, rounds := []string{"v4"}, 1
	if c.Full {
		families, rounds = []string{"v4", "v6"}, 3
	}
	all := map[string][]*stockRun{}
	var down []float64
	for round := range rounds {
		for _, v := range families {
			s := &stocked{LeafSpine: network, plane: p, v6: v == "v6"}
			say("round %d, IP%s", round+1, v)
			run, err := s.round(ctx, round, c.Full, say)
			if err != nil {
				return nil, reason(ctx, fmt.Errorf("IP%s: %w", v, err))
			}
			all[v] = append(all[v], run)
		}
		s := &stocked{LeafSpine: network, plane: p}
		ms, err := s.linkDown(ctx, say)
		if err != nil {
			return nil, reason(ctx, fmt.Errorf("link down: %w", err))
		}
		down = append(down, ms)
	}
	for v, runs := range all {
		r.Stock.Placement[v] = medianRun(runs)
	}
	r.Stock.LinkDownMS = median(down, func(ms float64) float64 { return ms })
	s := &stocked{LeafSpine: network, plane: p}
	if r.Stock.RestartS, err = s.restart(outer, c, at, say); err != nil {
		return nil, err
	}
	return r, nil
}

// round measures one family: by hash, and placed.
func (s *stocked) round(ctx context.Context, round int, full bool, say say) (r *stockRun, err error) {
	r = &stockRun{}
	equal := queuepairs.Weights(stockFlows, func(int) float64 { return 1 })
	zipf := queuepairs.Weights(stockFlows, func(rank int) float64 { return 1 / float64(rank+1) })
	ports := make([]int, stockFlows)
	for i := range ports {
		ports[i] = stockPort + round*stockFlows + i
	}
	if err := s.begin(ports); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.load.End()) }()

	s.load.Send(equal)
	if r.Hash, err = s.measure(ctx, 200*time.Millisecond, time.Second); err != nil {
		return nil, err
	}
	say("by hash max ÷ mean is %.2f", r.Hash)
	// Each phase begins without entries, so that its figure is that of placing from scratch. A
	// sampling rate of 4 gives 10,000 samples/s of 40,000 packets, 40 gives 1000.
	phase := func(moves string, sampling int, weights []float64, from, span time.Duration) (worst float64, rules int, err error) {
		if err := s.enable(ctx, moves, sampling); err != nil {
			return 0, 0, err
		}
		s.load.Send(weights)
		if worst, err = s.measure(ctx, from, span); err != nil {
			return 0, 0, err
		}
		if rules, err = s.rules(ctx); err != nil {
			return 0, 0, err
		}
		s.load.Send(nil)
		return worst, rules, s.disable(ctx)
	}
	s.load.Send(nil)
	if r.Placed10k, r.Rules, err = phase("any", 4, equal, 2*time.Second, 2*time.Second); err != nil {
		return nil, err
	}
	say("10,000 samples a second: %.3f with %d rules", r.Placed10k, r.Rules)
	// The largest flow is on some uplink: no placement is below its share of all, times the uplinks.
	r.Floor = max(1, zipf[0]*stockUplinks)
	if r.Zipf, _, err = phase("any", 4, zipf, 3*time.Second, time.Second); err != nil {
		return nil, err
	}
	say("Zipf: %.3f, no placement is below %.3f", r.Zipf, r.Floor)
	if !full {
		return r, nil
	}
	if r.Placed1k, _, err = phase("any", 40, equal, 5*time.Second, 2*time.Second); err != nil {
		return nil, err
	}
	say("1000 samples a second: %.3f", r.Placed1k)
	if err := s.pausing(ctx, r, equal); err != nil {
		return nil, err
	}
	say("flows that pause: %.3f, lost %d, reordered %d", r.IdleEven, r.IdleLost, r.IdleReordered)
	return r, nil
}

// pausing measures flows that pause 1.5 of each 3 seconds, and move only then.
func (s *stocked) pausing(ctx context.Context, r *stockRun, weights []float64) error {
	if err := s.enable(ctx, "idle", 4); err != nil {
		return err
	}
	before, err := s.B.Counters()
	if err != nil {
		return err
	}
	watched, err := queuepairs.StartWatch(s.B)
	if err != nil {
		return err
	}
	sent := s.load.Sent()
	s.load.Pause(true)
	s.load.Send(weights)
	// Three pauses of each flow, in which it may move, and then one whole period.
	r.IdleEven, err = s.measure(ctx, 9*time.Second, 3*time.Second)
	s.load.Send(nil)
	s.load.Pause(false)
	if err != nil {
		return errors.Join(err, watched.End())
	}
	if err := s.disable(ctx); err != nil {
		return errors.Join(err, watched.End())
	}
	// The counters of the receiver are read last: packets on their way have arrived by then.
	after, err := s.B.Counters()
	r.IdleLost = int64(s.load.Sent()-sent) - int64(after.RxPackets-before.RxPackets)
	err = errors.Join(err, watched.End())
	r.IdleReordered = watched.Reordered
	return err
}

// linkDown has eight rules on a link that goes down, and returns when the last packet was
// lost, in ms after.
func (s *stocked) linkDown(ctx context.Context, say say) (ms float64, err error) {
	down := s.Uplinks[3]
	ports, err := s.portsAway(ctx, down)
	if err != nil {
		return 0, err
	}
	if err := s.begin(ports); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.load.End()) }()
	if err := s.enable(ctx, "any", 4); err != nil {
		return 0, err
	}
	s.load.Send(queuepairs.Weights(stockFlows, func(int) float64 { return 1 }))
	if _, err := s.measure(ctx, 2*time.Second, time.Second); err != nil {
		return 0, err
	}
	on, err := s.rulesTo(ctx, down.Name)
	if err != nil {
		return 0, err
	}
	watched, err := queuepairs.StartWatch(s.B)
	if err != nil {
		return 0, err
	}
	// The watch needs a packet of each flow, to see the gap after it.
	if err := pause(ctx, 100*time.Millisecond); err != nil {
		return 0, errors.Join(err, watched.End())
	}
	began := time.Now()
	err = down.Peer().Set(false)
	if err == nil {
		err = pause(ctx, time.Second)
	}
	err = errors.Join(err, watched.End())
	if err != nil {
		return 0, err
	}
	s.load.Send(nil)
	ms = float64(max(0, watched.LastGap.Sub(began)).Microseconds()) / 1000
	say("a link with %d rules goes down: the last packet is lost after %.0f ms", on, ms)
	if on < 8 {
		return 0, fmt.Errorf("the link that goes down has %d rules: want 8", on)
	}
	if dead, err := s.rulesTo(ctx, down.Name); err != nil || dead > 0 {
		return 0, errors.Join(err, fmt.Errorf("%d rules to a dead link", dead))
	}
	return ms, errors.Join(down.Peer().Set(true), s.disable(ctx))
}

// portsAway are source ports whose flows avoid a link: the kernel sends none of their
// packets out of it.
func (s *stocked) portsAway(ctx context.Context, link *fabric.Interface) (ports []int, err error) {
	sender, err := s.A.Sender()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sender.Close()) }()
	for port := stockPort; len(ports) < stockFlows && ctx.Err() == nil; port++ {
		frame, err := queuepairs.Frame(s.A, s.v6, port, queuepairs.FirstQP)
		if err != nil {
			return nil, err
		}
		before, err := link.Counters()
		if err != nil {
			return nil, err
		}
		for range 10 {
			if err := sender.Send(frame); err != nil {
				return nil, err
			}
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return nil, err
		}
		after, err := link.Counters()
		if err != nil {
			return nil, err
		}
		// Other packets may leave by the link meanwhile, such as those of neighbor discovery.
		if after.TxPackets-before.TxPackets < 5 {
			ports = append(ports, port)
		}
	}
	return ports, ctx.Err()
}

// restart kills sluiced while rules are on the switch, and takes a link down before the next
// one starts. It returns how long until that has adopted or removed the rules.
func (s *stocked) restart(ctx context.Context, c Config, at site, say say) (seconds float64, err error) {
	ports := make([]int, stockFlows)
	for i := range ports {
		ports[i] = stockPort + i
	}
	if err := s.begin(ports); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.load.End()) }()
	if err := s.enable(ctx, "any", 4); err != nil {
		return 0, err
	}
	s.load.Send(queuepairs.Weights(stockFlows, func(int) float64 { return 1 }))
	if _, err := s.measure(ctx, 2*time.Second, time.Second/2); err != nil {
		return 0, err
	}
	rules, err := s.rules(ctx)
	if err != nil || rules == 0 {
		return 0, errors.Join(err, fmt.Errorf("%d rules before sluiced is killed", rules))
	}
	s.plane.sluiced.Kill()
	down := s.Uplinks[5]
	if err := down.Peer().Set(false); err != nil {
		return 0, err
	}
	// The row of the killed process would count as that of the next one.
	gone := sonicdb.Change{Row: rows.Row{Table: "SLUICE_STATE", Key: "global"}, Deleted: true}
	if err := s.plane.state.Write(ctx, gone); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := s.plane.run(ctx, c, at); err != nil {
		return 0, err
	}
	for {
		dead, err := s.rulesTo(ctx, down.Name)
		if err != nil {
			return 0, err
		}
		if dead == 0 {
			break
		}
		if time.Since(began) > applyPatience {
			return 0, fmt.Errorf("%d rules to a dead link after %v", dead, applyPatience)
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
	seconds = time.Since(began).Seconds()
	say("sluiced is killed with %d rules on the switch, and a link goes down: they are in order %.2f s after the next one starts", rules, seconds)
	s.load.Send(nil)
	return seconds, down.Peer().Set(true)
}

// enable switches placement on, and waits until it is.
func (s *stocked) enable(ctx context.Context, moves string, sampling int) error {
	row := set("SLUICE_PLACEMENT", "global", map[string]string{"admin_state": "enabled", "moves": moves, "sampling_rate": fmt.Sprint(sampling)})
	if err := s.plane.config.Write(ctx, row); err != nil {
		return err
	}
	if _, err := s.plane.await(ctx, applyPatience, "SLUICE_CAPABILITY", "switch", "placement_method", "redirect"); err != nil {
		return err
	}
	_, err := s.plane.await(ctx, applyPatience, "SLUICE_STATE", "global", "placement", "active")
	return err
}

// disable switches placement off, and waits until its entries have gone.
func (s *stocked) disable(ctx context.Context) error {
	if err := s.plane.config.Write(ctx, set("SLUICE_PLACEMENT", "global", map[string]string{"admin_state": "disabled"})); err != nil {
		return err
	}
	if _, err := s.plane.await(ctx, applyPatience, "SLUICE_CAPABILITY", "switch", "placement_method", "none"); err != nil {
		return err
	}
	for deadline := time.Now().Add(stockTry); ; {
		left, err := s.rulesTo(ctx, "")
		if err != nil || left == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d rules are on the switch %v after placement was disabled", left, stockTry)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// rules is how many flows the groups of next hops have entries for.
func (s *stocked) rules(ctx context.Context) (n int, err error) {
	return s.rulesTo(ctx, "")
}

// rulesTo counts the entries that send flows to a port; "": to any.
func (s *stocked) rulesTo(ctx context.Context, port string) (n int, err error) {
	all, err := s.plane.state.Read(ctx, "SLUICE_ASIC_OBJECT")
	for _, r := range all {
		key := r.Fields["key"]
		if strings.HasPrefix(key, "redirect/flow/") && r.Fields["type"] == "acl-entry" && (port == "" || strings.Contains(r.Fields["attributes"], "next-hop/"+port+"/")) {
			n++
		}
	}
	return n, err
}

// measure waits, and returns max ÷ mean of the octets that the uplinks send in a span.
func (s *stocked) measure(ctx context.Context, from, span time.Duration) (float64, error) {
	if err := pause(ctx, from); err != nil {
		return 0, err
	}
	before, err := s.octets()
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, span); err != nil {
		return 0, err
	}
	after, err := s.octets()
	if err != nil {
		return 0, err
	}
	for i := range after {
		after[i] -= before[i]
	}
	return worstToMean(after, nil), s.load.Failed()
}

// octets returns the octets that each uplink sent, by its own counter.
func (s *stocked) octets() (all []uint64, err error) {
	for _, u := range s.Uplinks {
		c, err := u.Counters()
		if err != nil {
			return nil, err
		}
		all = append(all, c.TxBytes)
	}
	return all, nil
}

// pause waits for d, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	if !clock.Sleep(ctx, d) {
		return ctx.Err()
	}
	return nil
}

// begin opens a load of flows with these source ports.
func (s *stocked) begin(ports []int) (err error) {
	s.load, err = queuepairs.Start(s.A, s.v6, stockRate, ports)
	return err
}
