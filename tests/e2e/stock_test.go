// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/orchagent-ext/testbed/queuepairs"
	"sluice/tests/fabrictest"
	"sluice/yang/rows"
)

const (
	stockUplinks = 8
	stockFlows   = 64
	stockPort    = 49152 // of the first flow
	stockRate    = 20000 // packets a second, of all flows
)

// stock is a leaf of stock SONiC: orchagent has the switch, sFlow samples, and sluiced places
// flows by rows.
type stock struct {
	*leaf
	asic    *ruleSwitch
	release string
	load    *queuepairs.Load
	equal   []float64
}

func newStock(t *testing.T, release string, v6 bool) *stock {
	t.Helper()
	needsPrograms(t)
	s := &stock{leaf: newSwitch(t, fabrictest.LeafSpine(t, stockUplinks)), release: release}
	family := "net.ipv4."
	if v6 {
		family = "net.ipv6."
	}
	for name, value := range map[string]string{"fib_multipath_hash_policy": "3", "fib_multipath_hash_fields": "55", "conf.all.ignore_routes_with_linkdown": "1"} {
		fabrictest.Check(t, s.Leaf.Sysctl(family+name, value))
	}
	if _, err := os.Stat(seedSetting); err == nil { // each release has a hash of its own, the same in each run
		fabrictest.Check(t, s.Leaf.Sysctl("net.ipv4.fib_multipath_hash_seed", fmt.Sprint(1+slices.IndexFunc(orchagenttest.Releases, func(r orchagenttest.Release) bool { return r.Name == release }))))
	}
	for _, u := range s.Uplinks {
		fabrictest.Check(t, s.Leaf.Sysctl(family+"conf."+u.Name+".ignore_routes_with_linkdown", "1"))
	}
	s.asic = newRuleSwitch(t, s.LeafSpine, v6)
	s.startOrchagent()
	s.neighbors()
	s.set("SLUICE", "global", "driver", "orchagent")
	s.set("SFLOW", "global", "admin_state", "up")
	samplePackets(t, s.LeafSpine, sampleSocket(s.memory), 4)
	ports := make([]int, stockFlows)
	for i := range ports {
		ports[i] = stockPort + i
	}
	var err error
	s.load, err = queuepairs.Start(s.A, v6, stockRate, ports)
	fabrictest.Check(t, err)
	t.Cleanup(func() { fabrictest.Check(t, s.load.End()) })
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("groups %v; rules %v; orchagent refused %v", s.table("SLUICE_PLACEMENT_GROUP"), s.asic.rules(), s.orchagent.Refused())
		}
	})
	s.equal = queuepairs.Weights(stockFlows, func(int) float64 { return 1 })
	return s
}

func (s *stock) startOrchagent() {
	s.t.Helper()
	databases, err := sonicdb.Load(s.redis.Config, "")
	fabrictest.Check(s.t, err)
	s.orchagent = orchagenttest.StartOn(s.t, databases, orchagenttest.ByName(s.release), orchagenttest.ASIC{RuleTime: 15 * time.Millisecond, Redirect: s.asic.redirect, Drop: s.asic.drop})
}

// neighbors writes those of the uplinks, as neighsyncd does. Groups of routes have them, too.
func (s *stock) neighbors() {
	s.t.Helper()
	var all []string
	for i := range s.Uplinks {
		row := s.neighbor(i)
		all = append(all, row.Key)
		fabrictest.Check(s.t, s.appl.Produce(s.t.Context(), sonicdb.Change{Row: row}))
	}
	s.orchagent.Routes(all...)
}

// neighbor is the row of the neighbor on an uplink.
func (s *stock) neighbor(uplink int) rows.Row {
	u := s.Uplinks[uplink]
	return rows.Row{Table: "NEIGH_TABLE", Key: u.Name + ":" + s.asic.nextHop(uplink).String(), Fields: map[string]string{"neigh": u.Peer().MAC.String(), "family": map[bool]string{false: "IPv4", true: "IPv6"}[s.asic.v6]}}
}

// restartsWarm restarts orchagent, which takes all rows again after three seconds of packets. No rule is rewritten.
func (s *stock) restartsWarm() {
	s.t.Helper()
	enable := rows.Row{Table: "WARM_RESTART_ENABLE_TABLE", Key: "swss", Fields: map[string]string{"enable": "true"}}
	fabrictest.Check(s.t, s.state.Write(s.t.Context(), sonicdb.Change{Row: enable}))
	before := s.asic.rewrites()
	s.orchagent.Stop()
	restore := make(chan struct{})
	s.orchagent.StartWarm(s.t, restore)
	rules := len(s.asic.rules())
	_ = s.worst(3*stockRate, s.Uplinks) // while flows send
	close(restore)
	s.until("orchagent has reconciled", func() bool { return s.row("WARM_RESTART_TABLE", "orchagent")["state"] == "reconciled" })
	s.neighbors()
	s.until("rules are changed again", func() bool {
		waits, err := s.appl.Waiting(s.t.Context(), "ACL_RULE_TABLE")
		return err == nil && len(waits) == 0
	})
	_ = s.worst(stockRate, s.Uplinks)
	s.t.Logf("a warm restart with %d rules: %d are rewritten, and there are %d", rules, s.asic.rewrites()-before, len(s.asic.rules()))
	if n := s.asic.rewrites() - before; n > 0 {
		s.t.Errorf("a warm restart: %d rules are rewritten, so that their flows go by hash", n)
	}
	fabrictest.Check(s.t, s.state.Write(s.t.Context(), sonicdb.Change{Row: enable, Deleted: true}))
}

// losesANeighbor has neighsyncd lose the neighbor of the uplink with most rules, whose next hop stays in
// orchagent. Its rules go, and come back with it.
func (s *stock) losesANeighbor() {
	s.t.Helper()
	most := s.asic.mostRules(s.Uplinks)
	uplink := slices.Index(s.Uplinks, most)
	on, began := s.asic.rulesTo(most.Name), time.Now()
	fabrictest.Check(s.t, s.appl.Produce(s.t.Context(), sonicdb.Change{Row: s.neighbor(uplink), Deleted: true}))
	s.until("no rule leads to the neighbor that is lost", func() bool { return s.asic.rulesTo(most.Name) == 0 })
	took := time.Since(began)
	fabrictest.Check(s.t, s.appl.Produce(s.t.Context(), sonicdb.Change{Row: s.neighbor(uplink)}))
	s.until("rules lead to the neighbor again", func() bool { return s.asic.rulesTo(most.Name) > 0 })
	s.t.Logf("a neighbor with %d rules is lost: they are off after %v", on, took.Round(time.Millisecond))
}

// even waits until the worst uplink has at most so much of the mean, in what they send next.
// It returns that, and how long it took.
func (s *stock) even(most float64, over []*fabric.Interface) (worst float64, took time.Duration) {
	s.t.Helper()
	began := time.Now()
	s.until(fmt.Sprintf("the worst uplink has %.2f of the mean", most), func() bool {
		worst = s.worst(stockRate/2, over)
		return worst <= most
	})
	return worst, time.Since(began)
}

// worst is max ÷ mean of the octets that uplinks send while they send so many packets.
func (s *stock) worst(packets uint64, over []*fabric.Interface) float64 {
	s.t.Helper()
	return slices.Max(s.loads(packets, over))
}

// loads are the octets that uplinks send while they send so many packets, each ÷ mean.
func (s *stock) loads(packets uint64, over []*fabric.Interface) (loads []float64) {
	s.t.Helper()
	octets := func() (by []uint64, sent uint64) {
		for _, u := range over {
			c, err := u.Counters()
			fabrictest.Check(s.t, err)
			by, sent = append(by, c.TxBytes), sent+c.TxPackets
		}
		return by, sent
	}
	before, first := octets()
	var after []uint64
	s.until(fmt.Sprintf("uplinks send %d packets", packets), func() bool {
		now, last := octets()
		after = now
		fabrictest.Check(s.t, s.load.Failed())
		return last >= first+packets
	})
	sum := 0.0
	for i := range after {
		loads = append(loads, float64(after[i]-before[i]))
		sum += loads[i]
	}
	for i := range loads {
		loads[i] *= float64(len(over)) / max(1, sum)
	}
	return loads
}

// fewestRules is how many flows have to leave their hash path until uplinks with such loads are
// even: equal flows, in number a multiple of the uplinks.
func fewestRules(loads []float64) (n int) {
	each := stockFlows / len(loads)
	for _, load := range loads {
		n += max(0, int(math.Round(load*float64(each)))-each)
	}
	return n
}

// startSampled starts sluiced with the samples of the test.
func (s *stock) startSampled() {
	s.t.Helper()
	s.sluiced = startSampled(s.t, s.Leaf, s.log, s.redis.Config, s.memory)
	s.awaitFields("SLUICE_STATE", "global", "driver", "orchagent", "state", "running")
}

// TestStockSwitchPlacesByOrchagentsRows: a whole sluiced on a switch that orchagent programs,
// with sFlow's samples, evens out 64 queue pairs over 8 uplinks; takes the rules of a link
// that goes down off; and after kill -9 the next process keeps the rules that lead to live
// links, and removes the others. With SLUICE_SOAK it is each release that is known.
func TestStockSwitchPlacesByOrchagentsRows(t *testing.T) {
	releases := orchagenttest.Releases[:1]
	if os.Getenv("SLUICE_SOAK") != "" {
		releases = orchagenttest.Releases
	}
	for _, r := range releases {
		t.Run(r.Name, func(t *testing.T) { placesByRows(t, r.Name) })
	}
}

func placesByRows(t *testing.T, release string) {
	s := newStock(t, release, false)
	s.load.Send(s.equal)
	hash := s.loads(stockRate/2, s.Uplinks)
	s.startSampled()
	s.place("any")
	placed, took := s.even(1.10, s.Uplinks)
	t.Logf("max ÷ mean %.2f by hash, %.3f placed after %v with %d rules", slices.Max(hash), placed, took.Round(time.Millisecond), len(s.asic.rules()))
	few := time.Now()
	s.until("there are no more rules than even loads need", func() bool { return len(s.asic.rules()) <= fewestRules(hash) })
	t.Logf("after another %v %d rules; even needs %d", time.Since(few).Round(time.Millisecond), len(s.asic.rules()), fewestRules(hash))
	s.restartsWarm()
	s.losesANeighbor()
	placed, took = s.even(1.10, s.Uplinks)
	t.Logf("max ÷ mean %.3f after another %v", placed, took.Round(time.Millisecond))

	down := s.asic.mostRules(s.Uplinks)
	watch, err := queuepairs.StartWatch(s.B)
	fabrictest.Check(t, err)
	settled := s.worst(stockRate, s.Uplinks) // and the watch knows where each flow is
	on, kernel := s.asic.rulesTo(down.Name), s.asic.took()
	began := time.Now()
	fabrictest.Check(t, down.Peer().Set(false))
	s.until("no rule leads to the dead link", func() bool { return s.asic.rulesTo(down.Name) == 0 })
	off := time.Since(began)
	kernel = s.asic.took() - kernel
	live := slices.DeleteFunc(slices.Clone(s.Uplinks), func(u *fabric.Interface) bool { return u == down })
	placed, took = s.even(1.20, live)
	fabrictest.Check(t, watch.End())
	t.Logf("max ÷ mean %.3f in the next second; a link with %d rules goes down: they are off after %v, of which the stand-in's kernel took %v, the last loss after %v; max ÷ mean %.3f of 7 uplinks after %v", settled, on, off.Round(time.Millisecond), kernel.Round(time.Millisecond), max(0, watch.LastGap.Sub(began)).Round(time.Millisecond), placed, took.Round(time.Millisecond))
	s.drops()

	s.sluiced.Kill()
	s.until("orchagent has taken what was handed to it", func() bool {
		waits, err := s.appl.Waiting(t.Context(), "ACL_RULE_TABLE")
		return err == nil && len(waits) == 0
	})
	_ = s.worst(stockRate/10, s.Uplinks)
	_ = s.orchagent.Taken() // returns when orchagent has made the rules
	before := s.asic.rules()
	second := s.asic.mostRules(live)
	fabrictest.Check(t, second.Peer().Set(false))
	gone := sonicdb.Change{Row: rows.Row{Table: "SLUICE_STATE", Key: "global"}, Deleted: true}
	fabrictest.Check(t, s.state.Write(t.Context(), gone))
	began = time.Now()
	s.startSampled()
	s.until("no rule leads to the dead link", func() bool { return s.asic.rulesTo(second.Name) == 0 })
	t.Logf("kill -9 with %d rules: in order %v after the next start", len(before), time.Since(began).Round(time.Millisecond))
	have := map[string]bool{}
	for rule := range s.asic.rules() {
		have[flowOf(rule)] = true
	}
	for rule, is := range before {
		if is.port != second.Name && !have[flowOf(rule)] {
			t.Errorf("rule %s to %s, which is live, is off", rule, is.port)
		}
	}
	live = slices.DeleteFunc(live, func(u *fabric.Interface) bool { return u == second })
	s.reloads(live)
	s.upgrades(live)

	s.set("SLUICE_PLACEMENT", "global", "admin_state", "disabled")
	s.until("no rule is left", func() bool { return len(s.asic.rules()) == 0 })
	if refused := s.orchagent.Refused(); len(refused) > 0 {
		t.Errorf("orchagent refused %v", refused)
	}
}

// TestStockSwitchPlacesIPv6ByOrchagentsRows: the same for IPv6, whose next hops are link-local
// addresses: loads are even with the fewest rules. With SLUICE_SOAK each release that is known
// does it for both families, and then places flows of Zipf's shares, and flows that pause.
func TestStockSwitchPlacesIPv6ByOrchagentsRows(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		placesLoads(t, orchagenttest.Releases[0].Name, true, false)
		return
	}
	for _, r := range orchagenttest.Releases {
		for name, v6 := range map[string]bool{"v4": false, "v6": true} {
			t.Run(r.Name+"/"+name, func(t *testing.T) { placesLoads(t, r.Name, v6, true) })
		}
	}
}

func placesLoads(t *testing.T, release string, v6, all bool) {
	s := newStock(t, release, v6)
	s.load.Send(s.equal)
	hash := s.loads(stockRate/2, s.Uplinks)
	s.startSampled()
	s.place("any")
	placed, took := s.even(1.10, s.Uplinks)
	s.until("there are no more rules than even loads need", func() bool { return len(s.asic.rules()) <= fewestRules(hash) })
	t.Logf("max ÷ mean %.2f by hash, %.3f after %v, and then %d rules", slices.Max(hash), placed, took.Round(time.Millisecond), len(s.asic.rules()))
	if !all {
		return
	}
	shares := queuepairs.Weights(stockFlows, func(rank int) float64 { return 1 / float64(rank+1) })
	floor := shares[0] * stockUplinks
	s.replace("any", shares)
	_ = s.worst(3*stockRate, s.Uplinks) // orchagent restores for as long as the load takes to send so many packets
	placed = s.worst(stockRate, s.Uplinks)
	t.Logf("Zipf: max ÷ mean %.3f from 3 s to 4 s, %d rules; no placement is below %.3f", placed, len(s.asic.rules()), floor)
	if placed > 1.05*floor {
		t.Errorf("Zipf: max ÷ mean is %.3f: want at most 1.05 × %.3f", placed, floor)
	}

	s.load.Pause(true)
	s.replace("idle", nil)
	watch, err := queuepairs.StartWatch(s.B)
	fabrictest.Check(t, err)
	before, err := s.B.Counters()
	fabrictest.Check(t, err)
	sent := s.load.Sent()
	s.load.Send(s.equal)
	<-time.After(9 * time.Second) // three pauses of each flow
	even := s.worst(3*stockRate, s.Uplinks)
	s.load.Send(nil)
	fabrictest.Check(t, watch.End())
	after, err := s.B.Counters()
	fabrictest.Check(t, err)
	lost := int64(s.load.Sent()-sent) - int64(after.RxPackets-before.RxPackets)
	t.Logf("moves=idle, flows that pause: max ÷ mean %.3f, %d rules, lost %d, reordered %d", even, len(s.asic.rules()), lost, watch.Reordered)
	if lost != 0 || watch.Reordered != 0 {
		t.Errorf("flows move while they are idle: %d packets are lost and %d reordered", lost, watch.Reordered)
	}
}

// place switches placement on.
func (s *stock) place(moves string) {
	s.t.Helper()
	s.set("SLUICE_PLACEMENT", "global", "admin_state", "enabled", "moves", moves)
	s.awaitFields("SLUICE_CAPABILITY", "switch", "placement_method", "redirect", "export_method", "sflow")
}

// replace switches placement off, and on again with another load.
func (s *stock) replace(moves string, weights []float64) {
	s.t.Helper()
	s.load.Send(nil)
	s.set("SLUICE_PLACEMENT", "global", "admin_state", "disabled")
	s.until("no rule is left", func() bool { return len(s.asic.rules()) == 0 })
	s.load.Send(weights)
	s.place(moves)
}

// drops has the operator drop a flow that has a rule: on a switch where a redirection wins over a
// DROP its packets end nevertheless, and those of others arrive.
func (s *stock) drops() {
	s.t.Helper()
	watch, err := queuepairs.StartWatch(s.B)
	fabrictest.Check(s.t, err)
	flow := -1
	for _, is := range s.asic.rules() {
		flow = is.flow
	}
	s.set("ACL_TABLE", "USER", "type", "L3", "stage", "ingress", "ports@", s.LeafA.Name)
	began := time.Now()
	s.set("ACL_RULE", "USER|RULE_1", "PRIORITY", "10", "L4_SRC_PORT", fmt.Sprint(stockPort+flow), "L4_DST_PORT", "4791", "PACKET_ACTION", "DROP")
	s.until("the flow that the operator drops has no rule", func() bool {
		return s.asic.ruled(flow) == 0 && s.orchagent.Fields("ACL_RULE", "USER|RULE_1") != nil
	})
	took := time.Since(began)
	// passes waits until 50 more packets of each other flow arrive, over each path.
	passes := func(what string) {
		s.t.Helper()
		from := make([]uint32, stockFlows)
		for i := range from {
			from[i] = watch.Latest(i)
		}
		s.until(what, func() bool {
			for i := range from {
				if i != flow && watch.Latest(i) <= from[i]+50 {
					return false
				}
			}
			return true
		})
	}
	passes("packets on their way have arrived")
	latest := watch.Latest(flow)
	passes("packets of the other flows arrive")
	if n := watch.Latest(flow) - latest; n > 0 {
		s.t.Errorf("%d packets of the flow that the operator drops arrived, while 50 of each other one did", n)
	}
	s.t.Logf("the operator drops a flow with a rule: its rule is off after %v", took.Round(time.Millisecond))
	s.remove("ACL_RULE", "USER|RULE_1")
	s.until("the flow arrives again", func() bool { return watch.Latest(flow) > latest })
	fabrictest.Check(s.t, watch.End())
}

// reloads empties CONFIG_DB and APPL_DB, restarts orchagent, which empties the switch, and loads
// the same configuration, as `config reload` does. Flows are placed again, over the live uplinks.
func (s *stock) reloads(live []*fabric.Interface) {
	s.t.Helper()
	s.restart()
	s.placesAgain("config reload", live)
}

// upgrades boots the next release, as after `sonic-installer install` and a reboot: the switch and
// the databases are empty but for the configuration, and sluiced starts with its files.
func (s *stock) upgrades(live []*fabric.Interface) {
	s.t.Helper()
	s.sluiced.Kill()
	for name, db := range map[string]*sonicdb.DB{"STATE_DB": s.state, "COUNTERS_DB": s.countersDB} {
		old, err := db.Read(s.t.Context(), rows.Tables(name)...)
		fabrictest.Check(s.t, err)
		for _, row := range old {
			fabrictest.Check(s.t, db.Write(s.t.Context(), sonicdb.Change{Row: row, Deleted: true}))
		}
	}
	from := s.release
	next := 1 + slices.IndexFunc(orchagenttest.Releases, func(r orchagenttest.Release) bool { return r.Name == from })
	s.release = orchagenttest.Releases[next%len(orchagenttest.Releases)].Name
	s.restart()
	s.startSampled()
	s.placesAgain("from "+from+" to "+s.release, live)
}

// restart restarts orchagent with empty databases and an empty switch, and loads the same
// configuration.
func (s *stock) restart() {
	s.t.Helper()
	saved, err := s.config.Read(s.t.Context(), "ACL_TABLE", "SFLOW", "SLUICE", "SLUICE_PLACEMENT", "SLUICE_PORT", "PORT")
	fabrictest.Check(s.t, err)
	s.orchagent.Stop()
	fabrictest.Check(s.t, s.asic.reset())
	flushed, err := s.appl.Read(s.t.Context(), "ACL_TABLE_TYPE_TABLE", "ACL_TABLE_TABLE", "ACL_RULE_TABLE", "NEIGH_TABLE")
	fabrictest.Check(s.t, err)
	for db, all := range map[*sonicdb.DB][]rows.Row{s.config: saved, s.appl: flushed} {
		for _, row := range all {
			fabrictest.Check(s.t, db.Write(s.t.Context(), sonicdb.Change{Row: row, Deleted: true}))
		}
	}
	s.startOrchagent()
	for _, row := range saved {
		fabrictest.Check(s.t, s.config.Write(s.t.Context(), sonicdb.Change{Row: row}))
	}
	s.neighbors()
}

// placesAgain waits until flows are placed over the live uplinks.
func (s *stock) placesAgain(after string, live []*fabric.Interface) {
	s.t.Helper()
	began := time.Now()
	s.until("there are rules again", func() bool { return len(s.asic.rules()) > 0 })
	first := time.Since(began)
	placed, took := s.even(1.20, live)
	s.t.Logf("%s: the first rule is in force after %v; max ÷ mean %.3f of %d uplinks %v later", after, first.Round(time.Millisecond), placed, len(live), took.Round(time.Millisecond))
}
