// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A scenario starts SONiC on a switch of its own.
type scenario struct {
	name, about string
	limits      []string // of the virtual switch, TYPE=NUMBER each
	vrf         string   // that the ports are in; "": the default one
	run         func(context.Context, *sonic) error
}

var scenarios = []scenario{
	{name: "start", about: "SONiC's daemons as Sluice finds them", run: start0},
	{name: "place", about: "placement by redirect, IPv4: rules, a link that goes down, an operator's rule, an end", run: placeIPv4},
	{name: "place6", about: "placement by redirect, IPv6 by link-local next hops", run: placeIPv6},
	{name: "unnumbered", about: "placement of IPv4 by IPv6 next hops", run: placeUnnumbered},
	{name: "kill", about: "kill -9 of sluiced", run: killed},
	{name: "reload", about: "CONFIG_DB emptied and loaded again; swss restarted cold", run: reloaded},
	{name: "warm", about: "warm restart of swss", run: warm},
	{name: "neighbors", about: "neighbors lost, flapping and missing; routes that lose a next hop", run: neighbors},
	{name: "full", about: "an ACL table without room, and rules of the operator in one burst", limits: []string{fmt.Sprint(kindEntry, "=", roomFull)}, run: full},
	{name: "denied", about: "ACL tables that the switch has no room for", limits: []string{kindTable + "=1"}, run: denied},
	{name: "counters", about: "ACL counters that the switch refuses", limits: []string{"SAI_OBJECT_TYPE_ACL_COUNTER=4"}, run: refusedCounters},
	{name: "rows", about: "hash, copies to the CPU, sFlow, depths of queues", run: rowsOfFeatures},
	{name: "vrf", about: "placement in a VRF", vrf: "Vrf_a", run: placeVRF},
	{name: "hang", about: "orchagent that hangs while Sluice is disabled", run: hangs},
}

// begin starts SONiC, runs the scenario and ends SONiC.
func (c scenario) begin(ctx context.Context, p place) (err error) {
	if c.vrf != "" && (!kernelHasVRFs() || !slices.Contains(p.has, "vrfmgrd")) {
		p.report.skip(c.name, "this kernel has no VRFs, or SONIC no usr/bin/vrfmgrd; make sonic-guest runs it with Debian's kernel")
		return nil
	}
	s, err := newSonic(ctx, p, &c)
	if err == nil {
		err = c.run(ctx, s)
	}
	if err != nil {
		err = errors.Join(err, s.alive())
	}
	return errors.Join(err, s.close())
}

// within adds a check that something holds within a time, and returns whether it did.
func (s *sonic) within(ctx context.Context, name string, most time.Duration, holds func() (bool, error)) (bool, error) {
	// A late answer is waited for: the report has how late.
	took, ok, err := until(ctx, max(3*most, 10*time.Second), holds)
	got := fmt.Sprintf("%.2f s", took.Seconds())
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	if !ok {
		got = "not within " + got
	}
	return s.report.add(name, ok && took <= most, fmt.Sprintf("<= %.1f s", most.Seconds()), got), nil
}

// stays adds a check that something holds for a time.
func (s *sonic) stays(ctx context.Context, name string, span time.Duration, holds func() (bool, error)) error {
	took, broke, err := until(ctx, span, func() (bool, error) {
		ok, err := holds()
		return !ok, err
	})
	got := "all the time"
	if broke {
		got = fmt.Sprintf("for %.2f s", took.Seconds())
	}
	s.report.add(name, !broke, fmt.Sprintf("for %.0f s", span.Seconds()), got)
	return err
}
