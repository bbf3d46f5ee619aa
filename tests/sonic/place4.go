// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/orchagent-ext/testbed/queuepairs"
)

// start0 checks SONiC as it is before Sluice comes, which other checks build on.
func start0(ctx context.Context, s *sonic) error {
	capability, err := row(ctx, s.state, "ACL_STAGE_CAPABILITY_TABLE", "INGRESS")
	if err != nil {
		return err
	}
	s.report.add("start: orchagent lists the ACL action REDIRECT_ACTION", containsOf(capability["action_list"], "REDIRECT_ACTION"), "REDIRECT_ACTION", capability["action_list"])
	sw, err := row(ctx, s.state, "SWITCH_CAPABILITY", "switch")
	if err != nil {
		return err
	}
	s.report.equal("start: orchagent says that ECMP's hash can be set", "true", sw["ECMP_HASH_CAPABLE"])
	s.report.add("start: orchagent lists hash fields", containsOf(sw["HASH|NATIVE_HASH_FIELD_LIST"], "SRC_IP"), "SRC_IP among them", sw["HASH|NATIVE_HASH_FIELD_LIST"])
	queues := 0
	if _, _, err := until(ctx, 30*time.Second, func() (bool, error) {
		all, err := row(ctx, s.counters, "COUNTERS_QUEUE_NAME_MAP", "")
		queues = len(all)
		return queues > 0, err
	}); err != nil {
		return err
	}
	s.report.add("start: COUNTERS_DB names the queues of each port", queues > 0 && queues%(uplinks+1) == 0, fmt.Sprintf("a multiple of %d", uplinks+1), queues)
	for _, v6 := range []bool{false, true} {
		family := map[bool]string{false: "IPv4", true: "IPv6"}[v6]
		found := 0
		for _, h := range s.hops(v6) {
			for _, n := range s.asics.of(kindNextHop) {
				if n["SAI_NEXT_HOP_ATTR_IP"] == h.via.String() {
					found++
					break
				}
			}
		}
		s.report.equal("start: ASIC_DB has a next hop for each "+family+" neighbor", uplinks, found)
	}
	ready, text := s.restartCheck(ctx, "-n")
	s.report.add("start: orchagent_restart_check succeeds", ready, "RESTARTCHECK succeeded", text)
	if err := s.startSluiced(ctx); err != nil {
		return err
	}
	state, err := row(ctx, s.state, "SLUICE_STATE", "global")
	if err != nil {
		return err
	}
	s.report.equal("start: sluiced runs with the driver orchagent", "orchagent", state["driver"])
	if err := s.stays(ctx, "start: sluiced writes nothing of ACLs while no feature is enabled", 3*time.Second, func() (bool, error) {
		return len(s.asics.tables()) == 0, nil
	}); err != nil {
		return err
	}
	return errors.Join(s.alive(), s.asics.failed())
}

func placeIPv4(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, false, func(ctx context.Context) error {
		if err := s.measure(ctx, "v4"); err != nil {
			return err
		}
		if err := s.agree(ctx, "v4", "SLUICE_PLACE4"); err != nil {
			return err
		}
		status, err := row(ctx, s.state, "ACL_TABLE_TABLE", "SLUICE_PLACE4")
		if err != nil {
			return err
		}
		s.report.equal("v4: orchagent reports the table SLUICE_PLACE4 as Active", "Active", status["status"])
		bound, err := row(ctx, s.appl, "ACL_TABLE_TABLE", "SLUICE_PLACE4")
		if err != nil {
			return err
		}
		s.report.equal("v4: the table is bound to the edge port alone", hostPort, bound["ports"])
		n := len(s.asics.redirections())
		s.report.add("v4: flows that leave their hash's path have entries, others none", n > 0 && n <= flows/2, fmt.Sprintf("1 to %d of %d flows", flows/2, flows), n)
		ready, text := s.restartCheck(ctx, "-n")
		s.report.add("v4: orchagent_restart_check succeeds while rules are Active", ready, "RESTARTCHECK succeeded", text)
		if err := errors.Join(s.linkDown(ctx), s.operatorDrops(ctx)); err != nil {
			return err
		}
		return s.ends(ctx)
	})
}

// busiest is the uplink that most entries lead to.
func (s *sonic) busiest() (uplink int) {
	for i := range uplinks {
		if s.asics.to(portName(i+1)) > s.asics.to(portName(uplink+1)) {
			uplink = i
		}
	}
	return uplink
}

// others are all uplinks but some.
func others(but ...int) (all []int) {
next:
	for i := range uplinks {
		for _, b := range but {
			if b == i {
				continue next
			}
		}
		all = append(all, i)
	}
	return all
}

// linkDown takes the link of an uplink with entries down at its far end, and up again.
func (s *sonic) linkDown(ctx context.Context) error {
	i := s.busiest()
	port := portName(i + 1)
	s.report.add("link down: entries lead to the uplink", s.asics.to(port) > 0, ">= 1", s.asics.to(port))
	if err := s.spine[i].Set(false); err != nil {
		return err
	}
	oper, err := s.within(ctx, "link down: orchagent reports oper_status down", 10*time.Second, func() (bool, error) {
		r, err := row(ctx, s.appl, "PORT_TABLE", port)
		return r["oper_status"] == "down", err
	})
	if err != nil {
		return err
	}
	if oper {
		if _, err := s.within(ctx, "link down: entries to it are gone", time.Second, func() (bool, error) { return s.asics.to(port) == 0, nil }); err != nil {
			return err
		}
	}
	// The route follows, as by BGP.
	if err := s.route(ctx, hostB4, without(s.hops(false), i)); err != nil {
		return err
	}
	if err := s.even(ctx, evenOver(uplinks-1), others(i)...); err != nil {
		return err
	}
	worst, _, err := s.worst(ctx, 2*time.Second, others(i)...)
	if err != nil {
		return err
	}
	s.report.add("link down: the other uplinks are even", worst <= evenOver(uplinks-1), fmt.Sprintf("max ÷ mean <= %.2f", evenOver(uplinks-1)), fmt.Sprintf("%.3f", worst))
	s.report.equal("link down: no entry leads to the dead link", 0, s.asics.to(port))
	return errors.Join(s.spine[i].Set(true), s.spine[i].Node.Do(func() error { return alive(s.spine[i], i+1) }), s.returned(ctx, i), s.even(ctx, 1.1))
}

// returned waits until an uplink's port and neighbor are there again, and routes over all uplinks.
func (s *sonic) returned(ctx context.Context, uplink int) error {
	if err := must(ctx, "the port is up again", func() (bool, error) {
		r, err := row(ctx, s.appl, "PORT_TABLE", portName(uplink+1))
		return r["oper_status"] == "up", err
	}); err != nil {
		return err
	}
	return errors.Join(s.meetNeighbors(ctx), s.route(ctx, hostB4, s.hops(false)))
}

// operatorDrops has the operator drop a flow that has an entry, on a switch where a redirection wins over
// a drop.
func (s *sonic) operatorDrops(ctx context.Context) error {
	placed := s.asics.redirections()
	if len(placed) == 0 {
		return errors.New("no flow has an entry that the operator could drop")
	}
	port := placed[0].srcPort
	flow := port - firstPort
	watch := make([]*queuepairs.Watch, uplinks)
	var err error
	for i := range watch {
		if watch[i], err = queuepairs.StartWatch(s.spine[i]); err != nil {
			return err
		}
		defer watch[i].End() //nolint:errcheck // a reader that ended late counts packets of nothing
	}
	latest := func(flow int) (n uint32) {
		for _, w := range watch {
			n = max(n, w.Latest(flow))
		}
		return n
	}
	if err := errors.Join(
		s.set(ctx, "ACL_TABLE", "USER", "policy_desc", "operator", "type", "L3", "stage", "ingress", "ports@", hostPort),
		s.set(ctx, "ACL_RULE", "USER|RULE_1", "PRIORITY", "10", "L4_SRC_PORT", fmt.Sprint(port), "L4_DST_PORT", "4791", "IP_PROTOCOL", "17", "PACKET_ACTION", "DROP")); err != nil {
		return err
	}
	if _, err := s.within(ctx, "operator drops a flow: its entry of Sluice is gone", 3*time.Second, func() (bool, error) {
		for _, e := range s.asics.redirections() {
			if e.srcPort == port {
				return false, nil
			}
		}
		return true, nil
	}); err != nil {
		return err
	}
	if _, err := s.within(ctx, "operator drops a flow: the rule is Active", 5*time.Second, func() (bool, error) {
		r, err := row(ctx, s.state, "ACL_RULE_TABLE", "USER|RULE_1")
		return r["status"] == "Active", err
	}); err != nil {
		return err
	}
	if _, err := s.within(ctx, "operator drops a flow: its packets stop at the receivers", 5*time.Second, func() (bool, error) {
		was := latest(flow)
		time.Sleep(500 * time.Millisecond) // some 30 packets of each flow
		return latest(flow) == was, nil
	}); err != nil {
		return err
	}
	other := (flow + 1) % flows
	was := latest(other)
	if _, err := s.within(ctx, "operator drops a flow: packets of others arrive", 5*time.Second, func() (bool, error) { return latest(other) > was+10, nil }); err != nil {
		return err
	}
	return errors.Join(s.remove(ctx, "ACL_RULE", "USER|RULE_1"), s.remove(ctx, "ACL_TABLE", "USER"), must(ctx, "the operator's entry is gone", func() (bool, error) {
		for _, e := range s.asics.entries() {
			if e.drops {
				return false, nil
			}
		}
		return true, nil
	}))
}

// ends disables placement.
func (s *sonic) ends(ctx context.Context) error {
	if err := s.disable(ctx); err != nil {
		return err
	}
	if _, err := s.within(ctx, "disabled: all entries are gone", 3*time.Second, s.none); err != nil {
		return err
	}
	if err := s.nothingLeft(ctx, "disabled"); err != nil {
		return err
	}
	worst, _, err := s.worst(ctx, 2*time.Second)
	if err != nil {
		return err
	}
	s.report.add("disabled: flows go by hash again", worst >= 1.2, "max ÷ mean >= 1.2", fmt.Sprintf("%.2f", worst))
	return nil
}
