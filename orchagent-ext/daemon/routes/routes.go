// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/yang/rows"
)

// mostHops is how many rows SLUICE_NEXT_HOP has at most.
const mostHops = 4096

// Settings of the rows. With the zero value there are none.
type Settings struct {
	Publish bool
	Links   map[string]Link // by the name of the netdev
}

// Link is a port or PortChannel of the switch.
type Link struct {
	Neighbor config.Neighbor // at its other end; the zero value: unknown
	Role     string          // that it faces, as the model has it; "": unknown
}

// Routes is the next hops that are published. Make it with [New]. It is for one goroutine.
type Routes struct {
	rows    *sonicdb.Mirror
	encoder *status.Encoder

	part    task.Part[bool, *reading, *watcher]
	table   *reading  // that the rows have; nil: none
	shown   *Settings // whose links the rows have
	warning string
}

// New returns Routes that publish into a mirror of STATE_DB with the tables SLUICE_NEXT_HOP and
// SLUICE_HASH.
func New(mirror *sonicdb.Mirror, e *status.Encoder) *Routes { return &Routes{rows: mirror, encoder: e} }

// Warning returns why rows are missing; "": all are there.
func (h *Routes) Warning() string { return h.warning }

// Reconcile brings the rows up to date; kernel reports whether the switch is the Linux kernel. It
// returns at once: rows follow with a later call. The settings are read until another call has
// others: they are not to change.
func (h *Routes) Reconcile(g task.Group, s *Settings, kernel bool) {
	if !h.part.Has(s.Publish) {
		h.part.Cancel() // it may be reading a table of thousands of routes
		*h = Routes{rows: h.rows, encoder: h.encoder}
		h.rows.Empty(telemetry.TableNextHop)
		h.rows.Empty(telemetry.TableHash)
	}
	_ = h.part.Reconcile(g, s.Publish, func() (*watcher, error) { return &watcher{log: h.encoder.Log}, nil })
	if !s.Publish {
		return
	}
	switch r := h.part.Report(); {
	case r == nil: // it is being read
	case r.err != nil:
		h.warning = "cannot publish next hops: " + task.FirstLine(r.err)
	case h.table != r || h.shown != s:
		all, left := hopRows(r.table, s.Links)
		h.table, h.shown, h.warning = r, s, r.late
		if left > 0 {
			h.warning = fmt.Sprintf("SLUICE_NEXT_HOP has %d rows at most: %d routes, with the shortest prefixes, are left out", mostHops, left)
		}
		h.rows.Replace(telemetry.TableNextHop, h.encoder.Encode(all...))
	}
	h.rows.Replace(telemetry.TableHash, h.encoder.Encode(hashRow(true, kernel), hashRow(false, kernel)))
}

// hopRows returns the rows of routes, those with the longest prefixes first, and how many
// routes are left out.
func hopRows(table map[netip.Prefix]nexthops.Result, links map[string]Link) (all []ygot.GoStruct, left int) {
	prefixes := slices.SortedFunc(maps.Keys(table), func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(b.Bits(), a.Bits()), a.Addr().Compare(b.Addr()))
	})
	for _, p := range prefixes {
		g := table[p]
		if g.Err != nil {
			continue
		}
		if len(all)+len(g.Members) > mostHops {
			left++
			continue
		}
		prefix, buckets := p.String(), ranges(g.Buckets, len(g.Members))
		for i, m := range g.Members {
			index, weight := uint16(i), uint32(m.Weight)
			link := links[m.Link]
			n := link.Neighbor
			row := &telemetry.NextHop{
				Prefix: &prefix, Index: &index, Port: telemetry.Text(m.Link), Weight: &weight, Buckets: telemetry.Text(buckets[i]),
				Neighbor: telemetry.Text(n.Name), NeighborPort: telemetry.Text(n.Port), NeighborAddress: telemetry.Text(n.Address),
			}
			if m.Gateway.IsValid() {
				row.Gateway = telemetry.Text(m.Gateway.String())
			}
			rows.SetEnum(&row.State, m.State())
			rows.SetEnum(&row.Role, link.Role)
			all = append(all, row)
		}
	}
	return all, left
}

// ranges returns the buckets of each of n members, as 0-31,64.
func ranges(buckets []uint16, n int) []string {
	texts := make([]strings.Builder, n)
	for first := 0; first < len(buckets); {
		last := first
		for last+1 < len(buckets) && buckets[last+1] == buckets[first] {
			last++
		}
		b := &texts[buckets[first]]
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(b, first)
		if last > first {
			fmt.Fprintf(b, "-%d", last)
		}
		first = last + 1
	}
	all := make([]string, n)
	for i := range texts {
		all[i] = texts[i].String()
	}
	return all
}

// hashRow returns how the switch chooses among next hops, where it is the kernel, and else the
// reason why that is unknown.
func hashRow(v4, kernel bool) *telemetry.Hash {
	row, family := &telemetry.Hash{}, "ipv6"
	if v4 {
		family = "ipv4"
	}
	rows.SetEnum(&row.Family, family)
	if !kernel {
		row.Reason = telemetry.Text("the switch is not the kernel, and its hash is not known")
		return row
	}
	hash, err := nexthops.Hash(v4)
	if err != nil {
		row.Reason = telemetry.Text(err.Error())
		return row
	}
	row.Policy, row.Fields, row.Seed = &hash.Policy, &hash.Fields, &hash.Seed
	if err := hash.Err(); err != nil {
		row.Reason = telemetry.Text(err.Error())
	}
	return row
}
