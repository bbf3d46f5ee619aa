// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/rows"
)

// Names of the tables of redirections, which are those of their types, too. The tables of a VRF
// other than the default one have its name after that: its ports have tables of their own, so that
// a rule never sees packets of another VRF with the same addresses.
const (
	namesTables = "SLUICE_PLACE"
	nameTable4  = namesTables + "4"
	nameTable6  = namesTables + "6"
	beforeVRF   = "_"
)

// tableOf is the name of the table for flows of a VRF.
func tableOf(vrf string, v6 bool) string {
	name := nameTable4
	if v6 {
		name = nameTable6
	}
	if vrf != "" {
		name += beforeVRF + vrf
	}
	return name
}

// parseTable reads the name of a table: its VRF, and the name of its type.
func parseTable(name string) (vrf, kind string, ok bool) {
	for _, kind := range []string{nameTable4, nameTable6} {
		after, is := strings.CutPrefix(name, kind)
		if vrf, named := strings.CutPrefix(after, beforeVRF); is && (after == "" || named && vrf != "") {
			return vrf, kind, true
		}
	}
	return "", "", false
}

const (
	protocolUDP  = "17"
	rulePriority = 9000 // of the first of two rules of a flow; the second has the next
)

// slotNames end the names of the two rules that a flow may have.
var slotNames = [2]string{"a", "b"}

// ruleState is how far a row is.
type ruleState uint8

const (
	absent     ruleState = iota
	awaited              // it is written when orchagent has the neighbor and the table
	sent                 // orchagent has yet to take it
	inForce              // orchagent has taken it
	refusedRow           // it is to be removed
	leaving              // orchagent has yet to remove it
)

// ruleRow is one row of a flow.
type ruleRow struct {
	to    engine.NextHop
	is    ruleState
	since time.Time // that it is awaited, or was written

	silent time.Time // since when orchagent has taken it, and says nothing of it; zero: it does
}

// ruled is a flow with its rows.
type ruled struct {
	flow  engine.Redirection // without its next hop
	slots [2]ruleRow
}

// step is what a decision for a flow depends on besides the flow.
type step struct {
	now    time.Time
	ready  bool // orchagent has the neighbor and the table
	single bool // the switch takes one rule of a match

	waits func(row string) bool // a row that was lost is not to be written yet; nil: none waits
}

// next decides what to write for a flow that is to go to a next hop; nil: by hash.
func (f *ruled) next(to *engine.NextHop, s step) (changes []sonicdb.Change) {
	drop := func(slot int) {
		r := &f.slots[slot]
		switch r.is {
		case awaited:
			*r = ruleRow{}
		case sent, inForce, refusedRow:
			*r = ruleRow{to: r.to, is: leaving, since: s.now}
			changes = append(changes, sonicdb.Change{Row: f.row(slot), Deleted: true})
		}
	}
	for slot := range f.slots {
		if f.slots[slot].is == refusedRow || to == nil {
			drop(slot)
		}
	}
	if to == nil {
		return changes
	}
	have := f.find(*to, awaited, sent, inForce)
	if have == nil {
		have = f.begin(*to, s)
	}
	if have == nil {
		return changes // until the name of a rule is free
	}
	slot := 0
	if have == &f.slots[1] {
		slot = 1
	}
	if have.is == awaited && s.ready && (s.waits == nil || !s.waits(f.row(slot).Key)) {
		*have = ruleRow{to: have.to, is: sent, since: s.now}
		changes = append(changes, sonicdb.Change{Row: f.row(slot)})
	}
	if other := &f.slots[1-slot]; have.is == inForce || other.is == awaited || other.is == sent {
		drop(1 - slot)
	}
	return changes
}

// begin makes room for a row to a next hop; nil: there is none yet. Where the switch takes one
// rule of a match, the rule in force is written again, which orchagent removes and creates. Its
// status is that of the former rule until then, so that it may be taken for in force too early;
// one that is refused is found a second later ([checkRules]).
func (f *ruled) begin(to engine.NextHop, s step) *ruleRow {
	for slot := range f.slots {
		r, other := &f.slots[slot], &f.slots[1-slot]
		if s.single && r.is == inForce && s.ready || r.is == absent && (!s.single || other.is == absent) {
			*r = ruleRow{to: to, is: awaited, since: s.now}
			return r
		}
	}
	return nil
}

// find returns the row to a next hop that is in one of some states; nil: there is none.
func (f *ruled) find(to engine.NextHop, states ...ruleState) *ruleRow {
	for slot := range f.slots {
		for _, is := range states {
			if r := &f.slots[slot]; r.is == is && r.to == to {
				return r
			}
		}
	}
	return nil
}

// settled reports whether there is nothing to wait for.
func (f *ruled) settled(to *engine.NextHop) bool {
	return to == nil && f.empty() || to != nil && f.find(*to, inForce) != nil && (f.slots[0].is == absent || f.slots[1].is == absent)
}

// works reports whether orchagent has yet to take or to remove a row.
func (f *ruled) works() bool {
	for slot := range f.slots {
		if is := f.slots[slot].is; is == sent || is == leaving || is == refusedRow {
			return true
		}
	}
	return false
}

// sends reports whether orchagent has yet to take a row.
func (f *ruled) sends() bool { return f.slots[0].is == sent || f.slots[1].is == sent }

// written reports whether a rule is in force, or orchagent has yet to take it.
func (f *ruled) written() bool {
	for slot := range f.slots {
		if is := f.slots[slot].is; is == sent || is == inForce {
			return true
		}
	}
	return false
}

// empty reports whether a flow has no row: it goes by hash.
func (f *ruled) empty() bool { return f.slots[0].is == absent && f.slots[1].is == absent }

// waitedSince is how long a row has waited for its neighbor.
func (f *ruled) waitedSince(now time.Time) (longest time.Duration) {
	for slot := range f.slots {
		if r := &f.slots[slot]; r.is == awaited {
			longest = max(longest, now.Sub(r.since))
		}
	}
	return longest
}

// row is one of the rows of a flow. The name is a hash of the 5-tuple: that of an IPv6 address
// has colons, which separate keys.
func (f *ruled) row(slot int) rows.Row {
	r := &f.flow
	h := fnv.New64a()
	_, _ = h.Write([]byte(r.Key())) // always succeeds
	to := f.slots[slot].to
	fields := map[string]string{
		"PRIORITY":    strconv.Itoa(rulePriority + slot),
		"L4_SRC_PORT": strconv.Itoa(int(r.SrcPort)), "L4_DST_PORT": strconv.Itoa(roce.UDPPort),
		fieldRedirect: to.Address.String() + "@" + to.Port,
	}
	if r.Src.Is4() {
		maps.Copy(fields, map[string]string{"SRC_IP": r.Src.String() + "/32", "DST_IP": r.Dst.String() + "/32", "IP_PROTOCOL": protocolUDP})
	} else {
		maps.Copy(fields, map[string]string{"SRC_IPV6": r.Src.String() + "/128", "DST_IPV6": r.Dst.String() + "/128", "NEXT_HEADER": protocolUDP})
	}
	return rows.Row{Table: tableRule, Key: fmt.Sprintf("%s:f%016x%s", tableOf(r.VRF, r.Src.Is6()), h.Sum64(), slotNames[slot]), Fields: fields}
}

const fieldRedirect = "REDIRECT_ACTION"

// parseRule reads a row back. The error says that Sluice does not write such a row.
func parseRule(row rows.Row) (r engine.Redirection, slot int, err error) {
	ip, port, _ := strings.Cut(row.Fields[fieldRedirect], "@")
	r.To.Port = port
	if r.To.Address, err = netip.ParseAddr(ip); err != nil {
		return r, 0, err
	}
	table, _, _ := strings.Cut(row.Key, ":")
	vrf, kind, ok := parseTable(table)
	if !ok {
		return r, 0, fmt.Errorf("%s is no row of Sluice", row.Name())
	}
	r.VRF = vrf
	v6 := ""
	if kind == nameTable6 {
		v6 = "V6"
	}
	for name, to := range map[string]*netip.Addr{"SRC_IP" + v6: &r.Src, "DST_IP" + v6: &r.Dst} {
		p, err := netip.ParsePrefix(row.Fields[name])
		if err != nil {
			return r, 0, err
		}
		*to = p.Addr()
	}
	n, err := strconv.ParseUint(row.Fields["L4_SRC_PORT"], 10, 16)
	if err != nil {
		return r, 0, err
	}
	r.SrcPort = uint16(n)
	if strings.HasSuffix(row.Key, slotNames[1]) {
		slot = 1
	}
	f := ruled{flow: r}
	f.slots[slot].to = r.To
	if is := f.row(slot); is.Key != row.Key || !maps.Equal(is.Fields, row.Fields) {
		return r, 0, fmt.Errorf("%s is no row of Sluice", row.Name())
	}
	return r, slot, nil
}
