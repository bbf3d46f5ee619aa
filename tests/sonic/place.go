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

	"sluice/orchagent-ext/testbed/fabric"
)

// evenBar is the most that the worst uplink may get of the mean, evenTime after placement is enabled.
const (
	evenBar  = 1.05
	evenTime = 5 * time.Second
)

// evenOver is evenBar above the best that equal flows can do over so many uplinks.
func evenOver(n int) float64 {
	fullest := (flows + n - 1) / n
	return evenBar * float64(fullest*n) / flows
}

// enable switches placement on.
func (s *sonic) enable(ctx context.Context) error {
	return s.set(ctx, "SLUICE_PLACEMENT", "global", "admin_state", "enabled", "moves", "any")
}

// disable switches it off.
func (s *sonic) disable(ctx context.Context) error {
	return s.set(ctx, "SLUICE_PLACEMENT", "global", "admin_state", "disabled")
}

// even waits until the worst uplink has at most so much of the mean, for checks that build on placed
// flows.
func (s *sonic) even(ctx context.Context, most float64, over ...int) error {
	return must(ctx, fmt.Sprintf("the worst uplink gets %.2f of the mean", most), func() (bool, error) {
		worst, _, err := s.worst(ctx, time.Second, over...)
		return worst <= most, err
	})
}

// placed starts sluiced and places the load of a family, with sluiced running from then on.
func (s *sonic) placed(ctx context.Context) error {
	return errors.Join(s.startSluiced(ctx), s.enable(ctx), s.even(ctx, 1.1))
}

// measure checks that flows go by hash before, and evenly after placement.
func (s *sonic) measure(ctx context.Context, family string) error {
	hash, _, err := s.worst(ctx, 2*time.Second)
	if err != nil {
		return err
	}
	s.report.add(family+": by hash uplinks are uneven", hash >= 1.2, "max ÷ mean >= 1.2", fmt.Sprintf("%.2f", hash))
	if err := s.startSluiced(ctx); err != nil {
		return err
	}
	if err := s.enable(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(evenTime):
	}
	placed, _, err := s.worst(ctx, 2*time.Second)
	if err != nil {
		return err
	}
	s.report.Placement[family] = float64(int(placed*1000+0.5)) / 1000
	s.report.add(family+": uplinks are even 5 s after placement is enabled", placed <= evenBar, fmt.Sprintf("max ÷ mean <= %.2f", evenBar), fmt.Sprintf("%.3f", placed))
	return s.even(ctx, 1.1)
}

// agree checks that rows, statuses and entries are of the same rules.
func (s *sonic) agree(ctx context.Context, name, aclTable string) error {
	return s.eventually(ctx, name+": rows of APPL_DB, statuses in STATE_DB and entries in ASIC_DB agree", func() (string, error) {
		rules, err := table(ctx, s.appl, "ACL_RULE_TABLE")
		if err != nil {
			return "", err
		}
		status, err := table(ctx, s.state, "ACL_RULE_TABLE")
		if err != nil {
			return "", err
		}
		written, active, programmed := map[string]string{}, 0, map[string]string{}
		for key, r := range rules {
			of, rule, _ := strings.Cut(key, ":")
			if of != aclTable {
				continue
			}
			written[r["L4_SRC_PORT"]+"/"+r["PRIORITY"]] = r["REDIRECT_ACTION"]
			if status[of+"|"+rule]["status"] == "Active" {
				active++
			}
		}
		for _, e := range s.asics.redirections() {
			programmed[fmt.Sprintf("%d/%d", e.srcPort, e.priority)] = e.nextHop.String() + "@" + e.port
		}
		switch {
		case len(written) == 0:
			return "no rules", nil
		case active != len(written):
			return fmt.Sprintf("%d of %d rows are Active", active, len(written)), nil
		case !maps.Equal(written, programmed):
			return fmt.Sprintf("rows %v, entries %v", written, programmed), nil
		}
		return "", nil
	})
}

// eventually adds a check that passes when a difference is "", which it has patience for.
func (s *sonic) eventually(ctx context.Context, name string, difference func() (string, error)) error {
	last := ""
	_, ok, err := until(ctx, 30*time.Second, func() (bool, error) {
		d, err := difference()
		last = d
		return d == "", err
	})
	if ok {
		last = "no difference"
	}
	s.report.add(name, ok, "no difference", last)
	return err
}

// none reports whether ASIC_DB has no redirection.
func (s *sonic) none() (bool, error) { return len(s.asics.redirections()) == 0, nil }

// nothingLeft checks that no row and no object of Sluice is left.
func (s *sonic) nothingLeft(ctx context.Context, name string) error {
	if err := s.eventually(ctx, name+": no row of Sluice is left in APPL_DB and STATE_DB", func() (string, error) {
		var left []string
		for _, at := range []string{"ACL_TABLE_TABLE", "ACL_TABLE_TYPE_TABLE", "ACL_RULE_TABLE"} {
			of, err := table(ctx, s.appl, at)
			if err != nil {
				return "", err
			}
			status, err := table(ctx, s.state, at)
			if err != nil {
				return "", err
			}
			for _, key := range slices.Concat(slices.Collect(maps.Keys(of)), slices.Collect(maps.Keys(status))) {
				if strings.HasPrefix(key, "SLUICE_") {
					left = append(left, at+" "+key)
				}
			}
		}
		return strings.Join(left, ", "), nil
	}); err != nil {
		return err
	}
	return s.eventually(ctx, name+": ASIC_DB has no ACL table and no entry left", func() (string, error) {
		if n, m := len(s.asics.tables()), len(s.asics.entries()); n+m > 0 {
			return fmt.Sprintf("%d tables, %d entries", n, m), nil
		}
		return "", nil
	})
}

func placeIPv6(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, true, func(ctx context.Context) error {
		if err := s.measure(ctx, "v6"); err != nil {
			return err
		}
		if err := s.agree(ctx, "v6", "SLUICE_PLACE6"); err != nil {
			return err
		}
		local := 0
		for _, e := range s.asics.redirections() {
			if e.nextHop.IsLinkLocalUnicast() && e.src.Addr().Is6() {
				local++
			}
		}
		s.report.add("v6: entries lead to link-local next hops", local > 0 && local == len(s.asics.redirections()), "all", fmt.Sprintf("%d of %d", local, len(s.asics.redirections())))
		if err := s.disable(ctx); err != nil {
			return err
		}
		if _, err := s.within(ctx, "v6: all entries are gone after placement is disabled", 3*time.Second, s.none); err != nil {
			return err
		}
		return s.nothingLeft(ctx, "v6")
	})
}

func placeUnnumbered(ctx context.Context, s *sonic) error {
	if err := s.route(ctx, fabric.HostB4.Masked(), s.hops(true)); err != nil {
		return err
	}
	return s.loaded(ctx, false, func(ctx context.Context) error {
		if err := s.measure(ctx, "v4 by v6 next hops"); err != nil {
			return err
		}
		delete(s.report.Placement, "v4 by v6 next hops") // the check has it
		return s.agree(ctx, "v4 by v6 next hops", "SLUICE_PLACE4")
	})
}
