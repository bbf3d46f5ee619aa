// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
)

// oids are the objects of the redirections that are in ASIC_DB.
func (s *sonic) oids() map[string]bool {
	all := map[string]bool{}
	for _, e := range s.asics.redirections() {
		all[e.oid] = true
	}
	return all
}

// kept counts those of some objects that are still there.
func (s *sonic) kept(before map[string]bool) (n int) {
	now := s.oids()
	for oid := range before {
		if now[oid] {
			n++
		}
	}
	return n
}

// hardwareIDs are the ASIC's own ids of the redirections, which outlive orchagent.
func (s *sonic) hardwareIDs() (map[string]bool, error) {
	text, err := s.cli("ASIC_DB", "HGETALL", "VIDTORID")
	if err != nil {
		return nil, err
	}
	words := strings.Fields(text)
	oids, all := s.oids(), map[string]bool{}
	for i := 0; i+1 < len(words); i += 2 {
		if oids[words[i]] {
			all[words[i+1]] = true
		}
	}
	return all, nil
}

// settled waits until no entry has changed for a while.
func (s *sonic) settled(ctx context.Context) error {
	was, since := s.oids(), time.Now()
	return must(ctx, "entries stay as they are for 3 s", func() (bool, error) {
		if now := s.oids(); !maps.Equal(now, was) {
			was, since = now, time.Now()
		}
		return len(was) > 0 && time.Since(since) > 3*time.Second, nil
	})
}

// killed kills sluiced: its entries go on, and the next process takes them over.
func killed(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, false, func(ctx context.Context) error {
		if err := errors.Join(s.placed(ctx), s.settled(ctx)); err != nil {
			return err
		}
		before := s.oids()
		s.sluiced.Kill()
		if err := s.stays(ctx, "kill -9: entries stay while sluiced is away", 3*time.Second, func() (bool, error) { return s.kept(before) == len(before), nil }); err != nil {
			return err
		}
		dead := s.busiest()
		port := portName(dead + 1)
		if err := errors.Join(s.spine[dead].Set(false), s.route(ctx, hostB4, without(s.hops(false), dead))); err != nil {
			return err
		}
		if err := must(ctx, "orchagent reports oper_status down", func() (bool, error) {
			r, err := row(ctx, s.appl, "PORT_TABLE", port)
			return r["oper_status"] == "down", err
		}); err != nil {
			return err
		}
		toLive := map[string]bool{}
		for _, e := range s.asics.redirections() {
			if e.port != port {
				toLive[e.oid] = true
			}
		}
		if err := s.startSluiced(ctx); err != nil {
			return err
		}
		if _, err := s.within(ctx, "kill -9: the next process removes entries to a link that went down meanwhile", 3*time.Second, func() (bool, error) { return s.asics.to(port) == 0, nil }); err != nil {
			return err
		}
		s.report.add("kill -9: the next process keeps the entries to live links", s.kept(toLive)*10 >= len(toLive)*8, fmt.Sprintf(">= 80 %% of %d", len(toLive)), s.kept(toLive))
		if err := s.even(ctx, evenOver(uplinks-1), others(dead)...); err != nil {
			return err
		}
		return s.agree(ctx, "kill -9", "SLUICE_PLACE4")
	})
}

// reloaded empties CONFIG_DB and loads it again, as `config reload` does, and restarts swss cold.
func reloaded(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, false, func(ctx context.Context) error {
		if err := errors.Join(s.placed(ctx), s.settled(ctx)); err != nil {
			return err
		}
		saved, err := s.save(ctx)
		if err != nil {
			return err
		}
		before := s.oids()
		if err := s.flush("CONFIG_DB"); err != nil {
			return err
		}
		if err := s.stays(ctx, "config reload: entries stay while CONFIG_DB is empty", 5*time.Second, func() (bool, error) { return s.kept(before) > 0, nil }); err != nil {
			return err
		}
		if err := s.load(ctx, saved); err != nil {
			return err
		}
		if err := s.stays(ctx, "config reload: entries stay when CONFIG_DB is there again", 3*time.Second, func() (bool, error) { return s.kept(before) > 0, nil }); err != nil {
			return err
		}
		if err := s.even(ctx, 1.1); err != nil {
			return err
		}
		// Then swss starts again, with databases that are empty.
		if err := s.restart(ctx); err != nil {
			return err
		}
		if _, err := s.within(ctx, "cold restart of swss: the table is Active again", 15*time.Second, func() (bool, error) {
			r, err := row(ctx, s.state, "ACL_TABLE_TABLE", "SLUICE_PLACE4")
			return r["status"] == "Active", err
		}); err != nil {
			return err
		}
		if err := s.even(ctx, 1.1); err != nil {
			return err
		}
		worst, _, err := s.worst(ctx, 2*time.Second)
		if err != nil {
			return err
		}
		s.report.add("cold restart of swss: uplinks are even again", worst <= 1.1, "max ÷ mean <= 1.10", fmt.Sprintf("%.3f", worst))
		if err := s.agree(ctx, "cold restart of swss", "SLUICE_PLACE4"); err != nil {
			return err
		}
		// An operator's word acts at once, however CONFIG_DB is.
		if err := s.set(ctx, "SLUICE", "global", "driver", "orchagent", "admin_state", "disabled"); err != nil {
			return err
		}
		if _, err := s.within(ctx, "admin_state=disabled: all entries are gone", 3*time.Second, s.none); err != nil {
			return err
		}
		return s.nothingLeft(ctx, "admin_state=disabled")
	})
}

// save returns the rows of CONFIG_DB, and load writes them as `config reload` does.
func (s *sonic) save(ctx context.Context) ([]sonicdb.Change, error) {
	all, err := s.config.Read(ctx, "*")
	var changes []sonicdb.Change
	for _, r := range all {
		changes = append(changes, sonicdb.Change{Row: r})
	}
	return changes, err
}

func (s *sonic) load(ctx context.Context, all []sonicdb.Change) error {
	return errors.Join(s.config.Write(ctx, all...), s.initialized())
}

// warm restarts swss warm, as SONiC does: the check, the end of swss, its start with the rows that are
// there. syncd runs on.
func warm(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, false, func(ctx context.Context) error {
		if err := errors.Join(s.placed(ctx), s.settled(ctx)); err != nil {
			return err
		}
		if _, err := s.cli("STATE_DB", "HSET", "WARM_RESTART_ENABLE_TABLE|swss", "enable", "true"); err != nil {
			return err
		}
		ready, text := s.restartCheck(ctx)
		s.report.add("warm restart: orchagent_restart_check succeeds", ready, "RESTARTCHECK succeeded", text)
		before, err := s.hardwareIDs()
		if err != nil {
			return err
		}
		_, end, err := calls(s.recording(), 0)
		if err != nil {
			return err
		}
		s.halt(s.swss()...)
		if err := s.startSwss(ctx); err != nil {
			return err
		}
		if _, err := s.within(ctx, "warm restart: orchagent reports that it is reconciled", time.Minute, func() (bool, error) {
			r, err := row(ctx, s.state, "WARM_RESTART_TABLE", "orchagent")
			return r["state"] == "reconciled", err
		}); err != nil {
			return err
		}
		if _, err := s.within(ctx, "warm restart: rules are Active again", 30*time.Second, func() (bool, error) { return s.allActive(ctx) }); err != nil {
			return err
		}
		var after []call
		if err := must(ctx, "orchagent has switched syncd to its view", func() (applied bool, err error) {
			after, _, err = calls(s.recording(), end)
			return slices.ContainsFunc(after, func(c call) bool { return c.operation == "a" && strings.Contains(c.object, applyView) }), err
		}); err != nil {
			return err
		}
		// At once: later Sluice may move flows, which gives them other entries.
		if err := s.eventually(ctx, "warm restart: entries keep their objects in the ASIC", func() (string, error) {
			now, err := s.hardwareIDs()
			same := 0
			for id := range before {
				if now[id] {
					same++
				}
			}
			if same*10 >= len(before)*8 {
				return "", err
			}
			return fmt.Sprintf("%d of %d are there", same, len(before)), err
		}); err != nil {
			return err
		}
		if err := s.settled(ctx); err != nil {
			return err
		}
		if after, _, err = calls(s.recording(), end); err != nil {
			return err
		}
		s.report.WarmRestart.Rewritten = rewritten(after)
		s.report.equal("warm restart: rules that were in force and are written again", 0, rewritten(after))
		restored := slices.ContainsFunc(after, func(c call) bool { return c.operation == "c" && c.kind == kindEntry })
		s.report.add("warm restart: orchagent restored the rules itself", restored, "entries are created before APPLY_VIEW", restored)
		if _, err := s.cli("STATE_DB", "DEL", "WARM_RESTART_ENABLE_TABLE|swss"); err != nil {
			return err
		}
		if err := s.even(ctx, 1.1); err != nil {
			return err
		}
		worst, _, err := s.worst(ctx, 2*time.Second)
		if err != nil {
			return err
		}
		s.report.add("warm restart: uplinks are even afterwards", worst <= 1.1, "max ÷ mean <= 1.10", fmt.Sprintf("%.3f", worst))
		return s.agree(ctx, "warm restart", "SLUICE_PLACE4")
	})
}

// allActive reports whether each rule of Sluice is Active.
func (s *sonic) allActive(ctx context.Context) (bool, error) {
	rules, err := s.appl.ReadKeys(ctx, "ACL_RULE_TABLE", "SLUICE_")
	if err != nil {
		return false, err
	}
	status, err := table(ctx, s.state, "ACL_RULE_TABLE")
	for _, r := range rules {
		if status[slashed(r.Key)]["status"] != "Active" {
			return false, err
		}
	}
	return len(rules) > 0, err
}
