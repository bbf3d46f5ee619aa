// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
)

var hostB4 = fabric.HostB4.Masked()

// without are hops without one of them.
func without(all []hop, i int) []hop { return slices.Delete(slices.Clone(all), i, i+1) }

// containsOf reports whether a list with commas has a name.
func containsOf(list, name string) bool { return slices.Contains(strings.Split(list, ","), name) }

// slashed is a key TABLE:RULE of APPL_DB as STATE_DB has it.
func slashed(key string) string { return strings.Replace(key, ":", "|", 1) }

// lose takes the neighbor of an uplink away: the spine no longer answers ARP, and the kernel forgets.
func (s *sonic) lose(uplink int) error {
	return errors.Join(s.answer(uplink, false), s.forget(uplink))
}

// answer sets whether the spine answers ARP on an uplink.
func (s *sonic) answer(uplink int, on bool) error {
	end := s.spine[uplink]
	return end.Node.Do(func() error {
		ignored := "8" // arp_ignore: never answer
		if on {
			ignored = "0"
		}
		return writeSysctl("net/ipv4/conf/"+end.Name+"/arp_ignore", ignored)
	})
}

// forget removes the switch's entry of an uplink's IPv4 neighbor, as the kernel does when it fails.
func (s *sonic) forget(uplink int) error {
	return s.leaf.Do(func() error {
		link, err := netlink.LinkByName(portName(uplink + 1))
		if err != nil {
			return err
		}
		return ignore(netlink.NeighDel(&netlink.Neigh{LinkIndex: link.Attrs().Index, IP: spineAddress(uplink).AsSlice()}), unix.ENOENT)
	})
}

// known reports whether orchagent's table has an uplink's IPv4 neighbor.
func (s *sonic) known(ctx context.Context, uplink int) (bool, error) {
	r, err := row(ctx, s.appl, "NEIGH_TABLE", portName(uplink+1)+":"+spineAddress(uplink).String())
	return r != nil, err
}

func neighbors(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, false, func(ctx context.Context) error {
		if err := errors.Join(s.placed(ctx), s.settled(ctx)); err != nil {
			return err
		}
		return errors.Join(s.neighborLost(ctx), s.neighborFlaps(ctx), s.hopWithdrawn(ctx), s.neighborMissing(ctx))
	})
}

// neighborLost loses one while the route keeps its next hop.
func (s *sonic) neighborLost(ctx context.Context) error {
	i := s.busiest()
	port := portName(i + 1)
	s.report.add("neighbor lost: entries lead to it before", s.asics.to(port) > 0, ">= 1", s.asics.to(port))
	if err := s.lose(i); err != nil {
		return err
	}
	if err := must(ctx, "neighsyncd has removed the neighbor", func() (bool, error) {
		known, err := s.known(ctx, i)
		return !known, err
	}); err != nil {
		return err
	}
	if _, err := s.within(ctx, "neighbor lost: entries to it are gone", time.Second, func() (bool, error) { return s.asics.to(port) == 0, nil }); err != nil {
		return err
	}
	if err := s.stays(ctx, "neighbor lost: no flow is sent to it", 5*time.Second, func() (bool, error) { return s.asics.to(port) == 0, nil }); err != nil {
		return err
	}
	// orchagent itself keeps the neighbor's removal pending while the route has the next hop.
	from := s.log.len()
	s.restartCheck(ctx, "-n")
	asked, pending := s.log.count(from, "warmRestartCheck: Restart check result"), s.log.count(from, "warmRestartCheck:     ACL_")
	s.report.add("neighbor lost: orchagent waits for no ACL rule", asked > 0 && pending == 0, "no task of ACLs in the restart check", fmt.Sprintf("%d in %d answers", pending, asked))
	if err := errors.Join(s.answer(i, true), s.meetNeighbors(ctx)); err != nil {
		return err
	}
	if _, err := s.within(ctx, "neighbor lost: uplinks are even when it is back", time.Minute, func() (bool, error) {
		worst, _, err := s.worst(ctx, time.Second)
		return worst <= 1.1, err
	}); err != nil {
		return err
	}
	return s.settled(ctx)
}

// neighborFlaps loses a neighbor again and again.
func (s *sonic) neighborFlaps(ctx context.Context) error {
	i := s.busiest()
	_, end, err := calls(s.recording(), 0)
	if err != nil {
		return err
	}
	const times = 10
	for range times {
		if err := s.lose(i); err != nil {
			return err
		}
		if err := must(ctx, "neighsyncd has removed the neighbor", func() (bool, error) {
			known, err := s.known(ctx, i)
			return !known, err
		}); err != nil {
			return err
		}
		if err := errors.Join(s.answer(i, true), s.meetNeighbors(ctx)); err != nil {
			return err
		}
	}
	made, _, err := calls(s.recording(), end)
	if err != nil {
		return err
	}
	created := 0
	for _, c := range made {
		if c.operation == "c" && c.kind == kindEntry {
			created++
		}
	}
	s.report.add("neighbor flaps 10 times: it is damped", created <= 40, "<= 40 entries created", created)
	if err := s.even(ctx, 1.1); err != nil {
		return err
	}
	return s.agree(ctx, "neighbor flaps", "SLUICE_PLACE4")
}

// hopWithdrawn takes a next hop out of the route.
func (s *sonic) hopWithdrawn(ctx context.Context) error {
	if err := s.settled(ctx); err != nil {
		return err
	}
	i := s.busiest()
	port := portName(i + 1)
	if err := s.route(ctx, hostB4, without(s.hops(false), i)); err != nil {
		return err
	}
	if _, err := s.within(ctx, "route loses a next hop: entries to it are gone", 2*time.Second, func() (bool, error) { return s.asics.to(port) == 0, nil }); err != nil {
		return err
	}
	if err := s.even(ctx, evenOver(uplinks-1), others(i)...); err != nil {
		return err
	}
	worst, _, err := s.worst(ctx, 2*time.Second, others(i)...)
	if err != nil {
		return err
	}
	s.report.add("route loses a next hop: the other uplinks are even", worst <= evenOver(uplinks-1), fmt.Sprintf("max ÷ mean <= %.2f", evenOver(uplinks-1)), fmt.Sprintf("%.3f", worst))
	if err := s.route(ctx, hostB4, s.hops(false)); err != nil {
		return err
	}
	if _, err := s.within(ctx, "route has it again: uplinks are even", time.Minute, func() (bool, error) {
		worst, _, err := s.worst(ctx, time.Second)
		return worst <= 1.1, err
	}); err != nil {
		return err
	}
	return s.agree(ctx, "route changes", "SLUICE_PLACE4")
}

// neighborMissing places flows over a group of which one next hop never had a neighbor.
func (s *sonic) neighborMissing(ctx context.Context) error {
	if err := s.disable(ctx); err != nil {
		return err
	}
	if err := must(ctx, "no entry is left", s.none); err != nil {
		return err
	}
	const i = 0
	if err := s.lose(i); err != nil {
		return err
	}
	if err := must(ctx, "neighsyncd has removed the neighbor", func() (bool, error) {
		known, err := s.known(ctx, i)
		return !known, err
	}); err != nil {
		return err
	}
	if err := s.enable(ctx); err != nil {
		return err
	}
	if _, err := s.within(ctx, "member without neighbor: the other uplinks get even", 15*time.Second, func() (bool, error) {
		worst, _, err := s.worst(ctx, time.Second, others(i)...)
		return worst <= 1.15, err
	}); err != nil {
		return err
	}
	s.report.add("member without neighbor: other flows have entries", len(s.asics.redirections()) >= 3, ">= 3", len(s.asics.redirections()))
	s.report.equal("member without neighbor: no entry leads to it", 0, s.asics.to(portName(i+1)))
	groups, err := table(ctx, s.state, "SLUICE_PLACEMENT_GROUP")
	if err != nil {
		return err
	}
	slow := ""
	for _, g := range groups {
		slow = g["entry_ms"]
	}
	s.report.add("member without neighbor: its wait is not in entry_ms", milliseconds(slow) < 1000, "< 1000 ms", slow)
	return errors.Join(s.answer(i, true), s.meetNeighbors(ctx))
}

// milliseconds reads a number of a row; an absent one is 0.
func milliseconds(v string) float64 {
	ms, _ := strconv.ParseFloat(v, 64) // 0: absent
	return ms
}
