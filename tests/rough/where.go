// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/site"
)

// where writes to standard error at which interfaces of a switch packets were dropped, and how late
// its flow control was: the judge's figures have neither.
func where(ctx context.Context, name string, s *site.Site, ports ...*fabric.Interface) {
	var found []string
	for _, p := range ports {
		q, err := p.Queue()
		c, countErr := p.Counters()
		if err != nil || countErr != nil {
			continue // it is gone
		}
		for what, n := range map[string]uint64{"queue": q.Dropped, "received": c.RxDropped, "sent": c.TxDropped} {
			if n > 0 {
				found = append(found, fmt.Sprintf("%d at %s (%s)", n, p.Name, what))
			}
		}
	}
	rows, err := s.Counters.Read(ctx, "SLUICE_NOTIFY_STATS")
	for _, r := range rows {
		if err != nil || r.Key != "pfcm" {
			continue
		}
		for _, counter := range []string{"hold_queue_full", "hold_queue_lost", "reaction_us_n", "reaction_us_p99", "reaction_us_max", "enforce_us_n", "enforce_us_p99", "enforce_us_max", "watchdog", "dropped_policed", "events_lost"} {
			if text := r.Fields[counter]; text != "" && text != "0" {
				found = append(found, counter+" "+text)
			}
		}
	}
	fmt.Fprintf(os.Stderr, "rough: %s: dropped: %s\n", name, strings.Join(found, ", "))
}

// where is of both switches.
func (p *pair) where(ctx context.Context) {
	where(ctx, "leaf", p.leaf, append([]*fabric.Interface{p.LeafA}, p.Uplinks...)...)
	where(ctx, "spine", p.spine, append([]*fabric.Interface{p.SpineB}, peers(p.Uplinks)...)...)
}
