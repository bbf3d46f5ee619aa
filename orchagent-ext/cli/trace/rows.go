// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/yang/text"
)

// Tables that a switch is asked for, of STATE_DB.
const (
	TableNextHop = "SLUICE_NEXT_HOP"
	TableHash    = "SLUICE_HASH"
	TableFlow    = "SLUICE_FLOW"
)

// Rows are the rows of a table, by their keys.
type Rows map[string]map[string]string

// mostMembers bounds the members of a next-hop group: the kernel counts them in 16 bits
// (struct nh_group in include/net/nexthop.h).
const mostMembers = 1 << 16

// FromRows returns the next hops of a switch towards dst, from its rows of
// SLUICE_NEXT_HOP and SLUICE_HASH.
func FromRows(hops, hashes Rows, dst netip.Addr) (*Switch, error) {
	of, prefix := longest(hops, dst)
	if len(of) == 0 {
		return nil, fmt.Errorf("it publishes no route to %v", dst)
	}
	s, group := &Switch{}, &nexthops.Group{}
	resilient := map[int]string{}
	for i := range len(of) {
		fields, ok := of[i]
		if !ok {
			return nil, fmt.Errorf("its rows of %v lack next hop %d: ask again", prefix, i)
		}
		weight, err := strconv.Atoi(fields["weight"])
		if err != nil {
			return nil, fmt.Errorf("its row %v|%d: weight %q is not a number", prefix, i, text.Printable(fields["weight"]))
		}
		s.Members = append(s.Members, Member{
			Port: text.Printable(fields["port"]), Via: text.Printable(fields["gateway"]),
			Neighbor: text.Printable(fields["neighbor"]), Behind: text.Printable(fields["neighbor_port"]), Address: fields["neighbor_address"], Edge: fields["role"] == "edge",
			Weight: weight, State: text.Printable(fields["state"]),
		})
		group.Members = append(group.Members, nexthops.Member{Member: ecmp.Member{
			Weight: weight, Dead: fields["state"] == "dead", Unresolved: fields["state"] == "unresolved",
		}})
		if b := fields["buckets"]; b != "" {
			resilient[i] = b
		}
	}
	if len(s.Members) == 1 {
		s.Choose = func(*ecmp.Tuple) (int, bool) { return 0, !group.Members[0].Dead }
		return s, nil
	}
	var err error
	if group.Buckets, err = buckets(resilient); err != nil {
		return nil, fmt.Errorf("its rows of %v: %w", prefix, err)
	}
	hash, err := kernelOf(hashes, dst)
	if err != nil {
		s.Unknown = err
		return s, nil
	}
	model, err := group.Model(hash)
	if err != nil {
		s.Unknown = err
		return s, nil
	}
	s.Choose, s.Hash = model.Predict, &hash
	return s, nil
}

// longest are the rows of the longest prefix that dst is in, by their index.
func longest(hops Rows, dst netip.Addr) (of map[int]map[string]string, best netip.Prefix) {
	for key, fields := range hops {
		name, number, _ := strings.Cut(key, "|")
		p, err := netip.ParsePrefix(name)
		i, notNumber := strconv.Atoi(number)
		if cmp.Or(err, notNumber) != nil || i < 0 || i >= mostMembers || !p.Contains(dst) || best.IsValid() && p.Bits() < best.Bits() {
			continue
		}
		if p != best {
			of, best = map[int]map[string]string{}, p
		}
		of[i] = fields
	}
	return of, best
}

// buckets returns the member of each bucket of a resilient group; nil for other groups.
func buckets(of map[int]string) ([]uint16, error) {
	type span struct{ first, last, member int }
	var spans []span
	for member, list := range of {
		for part := range strings.SplitSeq(list, ",") {
			from, to, isRange := strings.Cut(part, "-")
			if !isRange {
				to = from
			}
			first, err := strconv.ParseUint(from, 10, 16)
			last, err2 := strconv.ParseUint(to, 10, 16)
			if errors.Join(err, err2) != nil || last < first {
				return nil, fmt.Errorf("buckets %q are not numbers and ranges", text.Printable(part))
			}
			spans = append(spans, span{int(first), int(last), member})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	var all []uint16
	for _, s := range spans {
		if s.first != len(all) {
			return nil, fmt.Errorf("bucket %d belongs to no member, or to two", min(s.first, len(all)))
		}
		for range s.last - s.first + 1 {
			all = append(all, uint16(s.member))
		}
	}
	return all, nil
}

// kernelOf is the hash of a family, where it is known.
func kernelOf(hashes Rows, dst netip.Addr) (k ecmp.Kernel, err error) {
	family := "ipv6"
	if dst.Is4() {
		family = "ipv4"
	}
	row, ok := hashes[family]
	switch {
	case !ok:
		return k, errors.New("its hash is not published")
	case row["reason"] != "":
		return k, errors.New(text.Printable(row["reason"]))
	}
	policy, err := strconv.ParseUint(row["policy"], 10, 8)
	fields, err2 := strconv.ParseUint(row["fields"], 10, 16)
	seed, err3 := strconv.ParseUint(row["seed"], 10, 32)
	if errors.Join(err, err2, err3) != nil {
		return k, fmt.Errorf("its row SLUICE_HASH|%s cannot be read", family)
	}
	return ecmp.Kernel{Seed: uint32(seed), Policy: uint8(policy), Fields: uint16(fields)}, nil
}
