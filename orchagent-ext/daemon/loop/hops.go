// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/yang/rows"
)

// mostHops is how many rows SLUICE_NEXT_HOP has at most.
const mostHops = 4096

// hops are the next hops that others can read, if that is configured.
type hops struct {
	on      bool
	news    *nexthops.News // nil: there is none, and routes are read at each tick
	stale   bool
	reading chan hopsRead // nil: routes are not being read
	table   map[netip.Prefix]nexthops.Result
	shown   *config.Snapshot // whose neighbors the rows have; nil: the rows are not of the table
	warning string
}

// hopsRead is what was read, beside the loop: a table of thousands of routes takes its time.
type hopsRead struct {
	table map[netip.Prefix]nexthops.Result
	err   error
}

// publishesHops reports whether next hops are told.
func publishesHops(s *config.Snapshot) bool {
	return s != nil && !policy.Disabled(s) && s.Global.PublishNextHops == config.Enabled
}

// publishHops brings the rows of next hops and of the hash up to date.
func (o *orch) publishHops() {
	h := &o.hops
	if !publishesHops(o.snapshot) || o.sw == nil {
		if h.on {
			h.stop()
			o.rows.Replace(telemetry.TableNextHop, nil)
			o.rows.Replace(telemetry.TableHash, nil)
		}
		return
	}
	h.look(o.Log)
	if err := h.take(); err != nil {
		h.warning = "next hops are not told: " + task.FirstLine(err)
	}
	if h.table != nil && h.shown != o.snapshot {
		all, left := hopRows(h.table, o.snapshot)
		h.shown, h.warning = o.snapshot, ""
		if left > 0 {
			h.warning = fmt.Sprintf("SLUICE_NEXT_HOP has %d rows at most: %d routes, with the shortest prefixes, are left out", mostHops, left)
		}
		o.rows.Replace(telemetry.TableNextHop, o.encoder.Encode(all...))
	}
	o.rows.Replace(telemetry.TableHash, o.encoder.Encode(hashRow(true, o.sw.Kernel), hashRow(false, o.sw.Kernel)))
}

// look starts to read routes where they may have changed.
func (h *hops) look(log *slog.Logger) {
	if !h.on {
		h.on, h.stale = true, true
		var err error
		if h.news, err = nexthops.Subscribe(); err != nil {
			h.warning = "changes of routes are not told at once: " + err.Error()
		}
	}
	if h.news == nil {
		h.stale = true
	} else {
		select {
		case <-h.news.Changed():
			h.stale = true
		default:
		}
	}
	if !h.stale || h.reading != nil {
		return
	}
	h.stale, h.reading = false, make(chan hopsRead, 1)
	go func(read chan<- hopsRead) {
		var r hopsRead
		r.err = task.Guard(log, func() (err error) {
			r.table, err = nexthops.Table()
			return err
		})
		read <- r
	}(h.reading)
}

// take takes what was read, if it is there.
func (h *hops) take() error {
	if h.reading == nil {
		return nil
	}
	select {
	case r := <-h.reading:
		h.reading = nil
		if r.err != nil {
			h.stale = true
			return r.err
		}
		h.table, h.shown = r.table, nil
	default:
	}
	return nil
}

func (h *hops) stop() {
	if h.news != nil {
		h.news.Close()
	}
	*h = hops{}
}

// hopRows are the rows of routes, those with the longest prefixes first, and how many
// routes are left out.
func hopRows(table map[netip.Prefix]nexthops.Result, s *config.Snapshot) (all []ygot.GoStruct, left int) {
	prefixes := slices.SortedFunc(maps.Keys(table), func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(b.Bits(), a.Bits()), a.Addr().Compare(b.Addr()))
	})
	resolved := s.Resolve()
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
			n := policy.NeighborOf(s, m.Link)
			row := &telemetry.NextHop{
				Prefix: &prefix, Index: &index, Port: telemetry.Text(m.Link), Weight: &weight, Buckets: telemetry.Text(buckets[i]),
				Neighbor: telemetry.Text(n.Name), NeighborPort: telemetry.Text(n.Port), NeighborAddress: telemetry.Text(n.Address),
			}
			if m.Gateway.IsValid() {
				row.Gateway = telemetry.Text(m.Gateway.String())
			}
			rows.SetEnum(&row.State, m.State())
			policy.SetRole(&row.Role, s, resolved, m.Link)
			all = append(all, row)
		}
	}
	return all, left
}

// ranges are the buckets of each of n members, as 0-31,64.
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

// hashRow is how the switch chooses among next hops, where it is the kernel.
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
