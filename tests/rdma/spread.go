// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	spreadPairs = 32     // queue pairs, each with a UDP source port of its own
	spreadSize  = "1024" // octets of a message: one packet
	window      = 12000  // packets of the uplinks, over which they are compared
	evenBar     = 1.10   // max ÷ mean of placed flows

	// asic are the limits of an ASIC of today, without a way to write labels.
	asic = "rule_ms=15\nentries=2048\nsamples=10000\ncounters_ms=50\n"
)

// A paths is one way in which the leaf chooses uplinks.
type paths struct {
	name  string
	about string
	moves string // of SLUICE_PLACEMENT; "": off
	hash  bool   // labels are written
	asic  bool
	to    func(*spread) *float64
}

var allPaths = []paths{
	{name: "5-tuple", about: "ECMP by the 5-tuple", to: func(s *spread) *float64 { return &s.FiveTuple }},
	{name: "hash", about: "labels of queue pairs", hash: true, to: func(s *spread) *float64 { return &s.Hash }},
	{name: "placed, moves=any", about: "chosen labels", hash: true, moves: "any", to: func(s *spread) *float64 { return &s.Placed }},
	{name: "placed, moves=idle", about: "labels chosen while flows pause", hash: true, moves: "idle", to: func(s *spread) *float64 { return &s.Idle }},
	{name: "redirect", about: "entries to next hops", moves: "any", asic: true, to: func(s *spread) *float64 { return &s.Redirect }},
}

// spreads compares the uplinks, by each way to choose them.
func spreads(ctx context.Context, l *lab) error {
	l.report.Spread = &spread{}
	for _, p := range allPaths {
		worst, err := l.spreadBy(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		*p.to(l.report.Spread) = worst
		switch {
		case p.moves != "" && !p.asic:
			l.report.holds("spread, "+p.name+": max ÷ mean of the uplinks", worst <= evenBar, fmt.Sprintf("<= %.2f", evenBar), fmt.Sprintf("%.3f", worst))
		case p.asic: // an entry that brings little is left out
			l.report.holds("spread, "+p.name+": max ÷ mean of the uplinks", worst <= l.report.Spread.FiveTuple, fmt.Sprintf("<= %.3f, that of the 5-tuple", l.report.Spread.FiveTuple), fmt.Sprintf("%.3f", worst))
		default:
			fmt.Printf("  %s: max ÷ mean %.3f\n", p.name, worst)
		}
	}
	return nil
}

// spreadBy is max ÷ mean of the packets on the uplinks in a window after the choice has settled.
func (l *lab) spreadBy(ctx context.Context, p paths) (worst float64, err error) {
	defer func() { err = errors.Join(err, l.stop()) }()
	var profile []string
	if p.asic {
		file := filepath.Join(l.folder, "asic")
		if err := os.WriteFile(file, []byte(asic), 0o600); err != nil {
			return 0, err
		}
		profile = []string{"SLUICE_ASIC=" + file}
	}
	if !p.hash {
		// Addresses, protocol and ports, as ASICs do.
		if err := errors.Join(l.Leaf.Sysctl("net.ipv6.fib_multipath_hash_policy", "3"), l.Leaf.Sysctl("net.ipv6.fib_multipath_hash_fields", "55")); err != nil {
			return 0, err
		}
	}
	if err := l.startLeaf(ctx, profile...); err != nil {
		return 0, err
	}
	if p.hash {
		if err := l.labels(ctx); err != nil {
			return 0, err
		}
	}
	if p.moves != "" {
		err := l.leaf.Set(ctx, "SLUICE_PLACEMENT", "global", "admin_state", "enabled", "moves", p.moves, "sampling_rate", "4")
		if err == nil {
			err = l.leaf.Await(ctx, "SLUICE_STATE", "global", "placement", "active")
		}
		if err != nil {
			return 0, err
		}
	}
	end, err := l.pour(ctx, transfer{program: "ib_write_bw", pairs: spreadPairs, args: "-n 5000000 -t 16 -s " + spreadSize})
	if err != nil {
		return 0, err
	}
	worst, err = l.settle(ctx, p.moves != "")
	return worst, end(err)
}

// pour starts a transfer that goes on until stop is called. stop adds the programs' output to the error
// by which the transfer failed, and fails itself if one of them has ended before.
func (l *lab) pour(ctx context.Context, t transfer) (stop func(error) error, err error) {
	connections := t.pairs
	if t.cm {
		connections++ // by which it sets up the others
	}
	for range attempts {
		var client, said string
		if client, err = l.serve(ctx, t); err != nil {
			return nil, err
		}
		// In 30 s it is connected or has ended; one that does neither is left to the checks.
		said, err = l.a.Run(ctx, "%s >/tmp/client 2>&1 & i=0; while pidof %s >/dev/null && [ $i -lt 300 ] && [ $(/usr/bin/rdma res show qp | grep -c 'type RC state RTS') -lt %d ]; do i=$((i+1)); sleep 0.1; done; pidof %s >/dev/null || { echo ended; cat /tmp/client; }", client, t.program, connections, t.program)
		if err == nil && said != "" {
			err = fmt.Errorf("%s: %s", client, said)
		}
		if !strings.Contains(said, rejected) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return func(failed error) error {
		errs := []error{failed}
		tell := "pidof " + t.program + " >/dev/null ||"
		if failed != nil {
			tell = "/usr/bin/rdma res show qp;"
		}
		sides := map[string]*end{"client": l.a, "server": l.b}
		for side, e := range sides {
			out, err := e.Run(ctx, "{ %s cat /tmp/%s; } 2>&1", tell, side)
			if out != "" {
				err = errors.Join(err, fmt.Errorf("the %s of %s said: %s", side, t.program, out))
			}
			errs = append(errs, err)
		}
		for _, e := range sides {
			_, err := e.Run(ctx, "killall -9 %s; while pidof %s >/dev/null; do sleep 0.1; done", t.program, t.program)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}, nil
}

// settle returns max ÷ mean of a window of packets. Where flows are placed it waits for a window
// that is even, at most for patience, and returns the one after it.
func (l *lab) settle(ctx context.Context, placed bool) (worst float64, err error) {
	if _, err := l.worst(ctx); err != nil { // in which connections are set up
		return 0, err
	}
	for deadline := time.Now().Add(patience); placed; {
		if worst, err = l.worst(ctx); err != nil || worst <= evenBar || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		return 0, err
	}
	return l.worst(ctx)
}

// worst waits until the uplinks have sent a window of packets, and returns max ÷ mean of them.
func (l *lab) worst(ctx context.Context) (float64, error) {
	read := func() (all [uplinks]uint64, err error) {
		for i, u := range l.Uplinks {
			c, err := u.Counters()
			if err != nil {
				return all, err
			}
			all[i] = c.TxPackets
		}
		return all, nil
	}
	before, err := read()
	for deadline := time.Now().Add(patience); err == nil; time.Sleep(poll) {
		now, readErr := read()
		var sum, most uint64
		for i := range now {
			sum, most = sum+now[i]-before[i], max(most, now[i]-before[i])
		}
		if sum >= window || readErr != nil {
			return float64(most) * uplinks / float64(sum), readErr
		}
		if err = ctx.Err(); err == nil && time.Now().After(deadline) {
			out, _ := l.a.Run(ctx, "tail -5 /tmp/client")
			err = fmt.Errorf("the uplinks sent %d packets in %v: %s", sum, patience, out)
		}
	}
	return 0, err
}
