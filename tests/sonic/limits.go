// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// operatorRules is how many rules the operator writes in one burst.
const operatorRules = 8

// Entries of the switch in the scenario full, and how many of them Sluice leaves free by default.
const (
	roomFull = 24
	reserve  = 16
)

// full has Sluice use all its entries of a switch, and then comes the operator.
func full(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, false, func(ctx context.Context) error {
		if err := s.set(ctx, "CRM", "Config", "polling_interval", "86400"); err != nil {
			return err
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		published := make(chan error, 1)
		go func() { published <- s.publishRoom(ctx) }()
		defer func() { stop(); <-published }() //nolint:errcheck // its end is awaited
		if err := errors.Join(s.startSluiced(ctx), s.enable(ctx)); err != nil {
			return err
		}
		if err := must(ctx, "Sluice has entries", func() (bool, error) { return len(s.asics.redirections()) > 0, nil }); err != nil {
			return err
		}
		free := func() int { return roomFull - len(s.asics.entries()) }
		if _, err := s.within(ctx, fmt.Sprintf("full: Sluice leaves %d of %d entries free", reserve, roomFull), 30*time.Second, func() (bool, error) { return free() >= reserve, nil }); err != nil {
			return err
		}
		if err := s.settled(ctx); err != nil {
			return err
		}
		mine := len(s.asics.entries())
		s.report.add("full: Sluice uses what it may", mine > 0 && mine <= roomFull-reserve, fmt.Sprintf("1 to %d", roomFull-reserve), mine)
		began := s.log.len()
		if err := s.operatorBurst(ctx); err != nil {
			return err
		}
		if _, err := s.within(ctx, fmt.Sprintf("full: %d rules of the operator in one burst are Active", operatorRules), 15*time.Second, func() (bool, error) { return s.operatorActive(ctx) }); err != nil {
			return err
		}
		if _, err := s.within(ctx, "full: the operator's rules are in ASIC_DB", 2*time.Second, func() (bool, error) { return s.drops() == operatorRules, nil }); err != nil {
			return err
		}
		refusals := s.log.count(began, "orchagent", "INSUFFICIENT_RESOURCES")
		s.report.equal("full: the switch refused no rule of the operator", 0, refusals)
		if _, err := s.within(ctx, "full: Sluice makes room for the operator's next rules", 30*time.Second, func() (bool, error) { return free() >= reserve, nil }); err != nil {
			return err
		}
		ready, text := s.restartCheck(ctx, "-n")
		s.report.add("full: orchagent_restart_check succeeds", ready, "RESTARTCHECK succeeded", text)
		// Placement goes on with the room that is there again.
		if err := s.removeBurst(ctx); err != nil {
			return err
		}
		if _, err := s.within(ctx, "full: Sluice has entries again when the operator's rules are gone", 90*time.Second, func() (bool, error) {
			return len(s.asics.redirections()) > 0 && s.drops() == 0, nil
		}); err != nil {
			return err
		}
		return s.agree(ctx, "full", "SLUICE_PLACE4")
	})
}

// publishRoom writes CRM's rows of ACL tables until ctx is done, as of an ASIC whose tables share
// roomFull entries: the virtual switch limits entries, and tells CRM of 1000 for each table.
func (s *sonic) publishRoom(ctx context.Context) error {
	for ctx.Err() == nil {
		used, all := map[string]int{}, s.asics.entries()
		for _, e := range all {
			used[e.table]++
		}
		for oid := range s.asics.tables() {
			if _, err := s.cli("COUNTERS_DB", "HSET", "CRM:ACL_TABLE_STATS:"+strings.TrimPrefix(oid, "oid:"),
				"crm_stats_acl_entry_available", fmt.Sprint(roomFull-len(all)), "crm_stats_acl_entry_used", fmt.Sprint(used[oid])); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

// operatorBurst writes rules that drop packets of no flow.
func (s *sonic) operatorBurst(ctx context.Context) error {
	err := s.set(ctx, "ACL_TABLE", "USER", "policy_desc", "operator", "type", "L3", "stage", "ingress", "ports@", hostPort)
	for i := range operatorRules {
		err = errors.Join(err, s.set(ctx, "ACL_RULE", fmt.Sprint("USER|RULE_", i), "PRIORITY", fmt.Sprint(100+i), "SRC_IP", fmt.Sprintf("192.0.2.%d/32", i), "PACKET_ACTION", "DROP"))
	}
	return err
}

func (s *sonic) removeBurst(ctx context.Context) (err error) {
	for i := range operatorRules {
		err = errors.Join(err, s.remove(ctx, "ACL_RULE", fmt.Sprint("USER|RULE_", i)))
	}
	return errors.Join(err, s.remove(ctx, "ACL_TABLE", "USER"))
}

// operatorActive reports whether orchagent has taken all rules of the operator.
func (s *sonic) operatorActive(ctx context.Context) (bool, error) {
	status, err := table(ctx, s.state, "ACL_RULE_TABLE")
	n := 0
	for key, r := range status {
		if strings.HasPrefix(key, "USER|") && r["status"] == "Active" {
			n++
		}
	}
	return n == operatorRules, err
}

// drops counts the entries that drop.
func (s *sonic) drops() (n int) {
	for _, e := range s.asics.entries() {
		if e.drops {
			n++
		}
	}
	return n
}

// denied has no room for a table.
func denied(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, false, func(ctx context.Context) error {
		began := s.log.len()
		if err := errors.Join(s.startSluiced(ctx), s.enable(ctx)); err != nil {
			return err
		}
		if err := must(ctx, "Sluice has tried the table", func() (bool, error) { return s.log.count(began, "orchagent", "SLUICE_PLACE4") > 0, nil }); err != nil {
			return err
		}
		if _, err := s.within(ctx, "denied: placement's method is reported as refused, with the table's name", 20*time.Second, func() (bool, error) {
			r, err := row(ctx, s.state, "SLUICE_CAPABILITY", "switch")
			return r["placement_state"] != "active" && strings.Contains(r["placement_reason"], "SLUICE_PLACE"), err
		}); err != nil {
			return err
		}
		if _, err := s.within(ctx, "denied: no row of a refused table is left", 10*time.Second, func() (bool, error) {
			tables, err := table(ctx, s.appl, "ACL_TABLE_TABLE")
			status, wrong := table(ctx, s.state, "ACL_TABLE_TABLE")
			for key := range tables {
				if status[key]["status"] != "Active" {
					return false, errors.Join(err, wrong)
				}
			}
			return true, errors.Join(err, wrong)
		}); err != nil {
			return err
		}
		ready, text := s.restartCheck(ctx, "-n")
		s.report.add("denied: orchagent_restart_check succeeds", ready, "RESTARTCHECK succeeded", text)
		quiet := s.log.len()
		if err := s.stays(ctx, "denied: orchagent logs no further failure", 10*time.Second, func() (bool, error) { return s.log.count(quiet, "orchagent", "SLUICE_PLACE") == 0, nil }); err != nil {
			return err
		}
		s.report.equal("denied: ASIC_DB has no entry", 0, len(s.asics.entries()))
		return nil
	})
}

// refusedCounters has room for some ACL counters only.
func refusedCounters(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, false, func(ctx context.Context) error {
		began := s.log.len()
		if err := errors.Join(s.startSluiced(ctx), s.enable(ctx)); err != nil {
			return err
		}
		failures := func() int { return s.log.count(began, "orchagent", "counter") }
		if err := must(ctx, "orchagent has refused a counter", func() (bool, error) { return failures() > 0, nil }); err != nil {
			return err
		}
		first := time.Now()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Second):
		}
		s.report.equal("refused counters: at most 4 entries are made", true, len(s.asics.entries()) <= 4)
		_, end, err := calls(s.recording(), 0)
		if err != nil {
			return err
		}
		if err := s.stays(ctx, "refused counters: placement goes on with what it has", 20*time.Second, func() (bool, error) {
			if err := s.alive(); err != nil {
				return false, err
			}
			return len(s.asics.entries()) <= 4, nil
		}); err != nil {
			return err
		}
		later, _, err := calls(s.recording(), end)
		if err != nil {
			return err
		}
		tries := 0
		for _, c := range later {
			if c.operation == "c" && c.kind == "SAI_OBJECT_TYPE_ACL_COUNTER" {
				tries++
			}
		}
		s.report.add("refused counters: few more are tried from 10 s on", tries <= 4, "<= 4 in 20 s", fmt.Sprintf("%d in %.0f s", tries, time.Since(first).Seconds()-10))
		ready, text := s.restartCheck(ctx, "-n")
		s.report.add("refused counters: orchagent_restart_check succeeds", ready, "RESTARTCHECK succeeded", text)
		if err := s.disable(ctx); err != nil {
			return err
		}
		return s.nothingLeft(ctx, "refused counters")
	})
}
