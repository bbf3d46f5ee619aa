// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openconfig/ygot/ygot"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// State has the rows of CONFIG_DB and the versions in force. It is for one goroutine.
type State struct {
	own      map[name]entry                 // rows of our tables that may be in force in a version
	bad      bad                            // the others, and rows of tables that begin like ours
	sonic    map[string]map[string]rows.Row // rows of SONiC's, by table and key
	inForce  map[name]*version
	rejected map[string]Rejection // of own, by TABLE|key

	// remembered: good ones of an earlier process, see Remember
	remembered map[name]*version
	expected   map[name]bool // rows of SONiC's tables that it knew
}

// name is the name of a row.
type name struct{ table, key string }

// String returns the row's name in CONFIG_DB.
func (n name) String() string { return n.table + "|" + n.key }

// entry is a row as CONFIG_DB has it, and the version in force if it is invalid.
type entry struct {
	current *version
	// good: its last good version, see switchedOff; nil: there is none
	good      *version
	canonical name // by which rows are compared
}

// version is a row at a time.
type version struct {
	row    rows.Row
	err    *rows.Error // reason that it is invalid by itself
	filled ygot.GoStruct
	refs   []rows.Reference
}

// New returns a state without rows.
func New() *State {
	return &State{
		own:      make(map[name]entry),
		bad:      bad{rows: make(map[name]Rejection), touched: make(map[name]*Rejection)},
		sonic:    make(map[string]map[string]rows.Row),
		inForce:  make(map[name]*version),
		rejected: make(map[string]Rejection),

		remembered: make(map[name]*version),
		expected:   make(map[name]bool),
	}
}

// Remember takes over [State.Known] of an earlier process, before the first Apply: rows
// of Sluice's tables are in force where CONFIG_DB has an invalid one of that name.
// Remembered rows that are invalid by now are left out.
func (st *State) Remember(known []rows.Row) {
	for _, r := range known {
		n := name{r.Table, r.Key}
		if !isOurs(r.Table) {
			st.expected[n] = true
		} else if v := newVersion(r); v.err == nil {
			st.remembered[n] = v
		}
	}
}

// Known returns the rows of Sluice's tables that are in force, and the rows of SONiC's by
// name, in any order, for [State.Remember]. Remembered rows that CONFIG_DB lacks are left
// out.
func (st *State) Known() []rows.Row {
	var known []rows.Row
	for _, v := range st.inForce {
		known = append(known, v.row)
	}
	for table, all := range st.sonic {
		for key := range all {
			known = append(known, rows.Row{Table: table, Key: key})
		}
	}
	return known
}

// Complete reports whether CONFIG_DB has every row that was remembered, and those of
// Sluice's tables are in force in some version: loading is over.
func (st *State) Complete() bool {
	for n := range st.expected {
		if _, ok := st.sonic[n.table][n.key]; !ok {
			return false
		}
	}
	for n := range st.remembered {
		if st.inForce[n] == nil {
			return false
		}
	}
	return true
}

// Forget drops the remembered rows: rows that CONFIG_DB lacks were removed.
func (st *State) Forget() {
	clear(st.remembered)
	clear(st.expected)
}

// isOurs reports whether a table is of Sluice's configuration model.
func isOurs(table string) bool { return slices.Contains(rows.Tables("CONFIG_DB"), table) }

// Apply takes over changes of tables of [Tables]. It returns the snapshot afterwards, and
// the rejections that are new, sorted by table and key. The removal of all ports is the
// begin of another load of CONFIG_DB: the rows in force are remembered.
func (st *State) Apply(changes []sonicdb.Change) (*Snapshot, []Rejection) {
	if st.losesPorts(changes) {
		defer st.Remember(st.Known())
	}
	for _, c := range changes {
		switch n := (name{c.Row.Table, c.Row.Key}); {
		case isOurs(c.Row.Table):
			st.take(c)
		case !strings.HasPrefix(c.Row.Table, prefixOurs):
			st.takeSonic(c)
		case c.Deleted:
			st.bad.delete(n)
		default:
			st.bad.put(n, unknownTable(n))
		}
	}
	before, touched := st.rejected, st.bad.settle()
	st.judge()
	return st.snapshot(), st.fresh(before, touched)
}

// fresh returns the rejections that differ from those before: of rows that may be in force, and of bad
// ones that changes touched.
func (st *State) fresh(before map[string]Rejection, touched map[name]*Rejection) (fresh []Rejection) {
	for n, was := range touched {
		if r, there := st.bad.rows[n]; there && (was == nil || *was != r) && before[n.String()] != r {
			fresh = append(fresh, r)
		}
	}
	for key, r := range st.rejected {
		if was := touched[name{r.Table, r.Key}]; before[key] != r && (was == nil || *was != r) {
			fresh = append(fresh, r)
		}
	}
	slices.SortFunc(fresh, ByName)
	return fresh
}

// losesPorts reports whether the changes remove all rows of PORT.
func (st *State) losesPorts(changes []sonicdb.Change) bool {
	left := maps.Clone(st.sonic[tablePort])
	if len(left) == 0 {
		return false
	}
	for _, c := range changes {
		if c.Row.Table == tablePort && !c.Deleted {
			return false
		}
		if c.Row.Table == tablePort {
			delete(left, c.Row.Key)
		}
	}
	return len(left) == 0
}

// take records a change of a row of Sluice's tables; the last good version of the row is
// kept.
func (st *State) take(c sonicdb.Change) {
	n := name{c.Row.Table, c.Row.Key}
	if c.Deleted {
		delete(st.own, n)
		st.bad.delete(n)
		delete(st.remembered, n)
		return
	}
	good := st.own[n].good
	if good == nil {
		good = st.remembered[n]
	}
	e := entry{newVersion(c.Row), switchedOff(c.Row, good), name{c.Row.Table, c.Row.CanonicalKey()}}
	if e.current.err != nil && e.good == nil {
		delete(st.own, n)
		st.bad.put(n, *e.current.err)
		return
	}
	st.bad.delete(n)
	st.own[n] = e
}

// takeSonic records a change of a row of SONiC's tables, as it is.
func (st *State) takeSonic(c sonicdb.Change) {
	table := st.sonic[c.Row.Table]
	if table == nil {
		table = make(map[string]rows.Row)
		st.sonic[c.Row.Table] = table
	}
	if c.Deleted {
		delete(table, c.Row.Key)
	} else {
		table[c.Row.Key] = c.Row
	}
}

// newVersion returns a row decoded, with its defaults and references, or with the error
// of decoding it.
func newVersion(r rows.Row) *version {
	s, err := rows.Decode(r)
	if err != nil {
		return &version{row: r, err: rows.AsError(err)}
	}
	rows.Fill(s)
	return &version{row: r, filled: s, refs: r.References()}
}

// judge decides which versions are in force. A row is, in its current version or else its
// last good one, if that is valid and all it refers to is in force or a port of SONiC's.
// One that falls out can take others with it, so this goes on until the set is stable.
func (st *State) judge() {
	there := func(n name) bool { // at first, every row that was valid ever
		e, ok := st.own[n]
		return ok && (e.current.err == nil || e.good != nil)
	}
	for settled := false; !settled; {
		inForce, rejected := st.round(there)
		settled = true
		for n := range st.own {
			if _, ok := inForce[n]; there(n) && !ok {
				settled = false
			}
		}
		if settled {
			st.inForce, st.rejected = inForce, rejected
		}
		there = func(n name) bool { _, ok := inForce[n]; return ok }
	}
	for n, v := range st.inForce {
		e := st.own[n]
		e.good = v
		st.own[n] = e
	}
}

// round chooses the version of each row, where those of our tables that there
// reports can be referred to.
func (st *State) round(there func(name) bool) (map[name]*version, map[string]Rejection) {
	owners := st.owners(there)
	inForce, rejected := make(map[name]*version, len(st.own)), make(map[string]Rejection)
	for n, e := range st.own {
		owner, taken := owners[e.canonical]
		fits := func(v *version) *rows.Error {
			if v.err == nil && taken && owner != n {
				return v.row.Twice(owner.key)
			}
			if err := st.fits(v, there); err != nil {
				return err
			}
			return st.clash(n, v, there)
		}
		chosen := e.current
		if err := fits(chosen); err != nil {
			rejected[n.String()] = *err
			if chosen = e.good; chosen == nil || fits(chosen) != nil {
				continue
			}
		}
		inForce[n] = chosen
	}
	return inForce, rejected
}

// clash returns the error of a version that contradicts a row of another table, or nil.
// Of two that clash the newer one goes; of two such the one whose table comes last.
func (st *State) clash(n name, v *version, there func(name) bool) *rows.Error {
	return v.row.Clash(func(table string) (rows.Row, bool) {
		other := name{table, n.key}
		e, ok := st.own[other]
		if !ok || !there(other) {
			return rows.Row{Table: table, Key: n.key}, true
		}
		candidate := e.current
		if candidate.err != nil {
			candidate = e.good
		}
		mine, theirs := st.inForce[n] == v, st.inForce[other] == candidate
		return candidate.row, theirs && !mine || mine == theirs && n.table > table
	})
}

// owners returns which row has a canonical name, of those that there reports:
// the one in force before, else the first by its own name.
func (st *State) owners(there func(name) bool) map[name]name {
	owners := make(map[name]name, len(st.own))
	for n, e := range st.own {
		if !there(n) {
			continue
		}
		other, taken := owners[e.canonical]
		_, ours := st.inForce[n]
		_, theirs := st.inForce[other]
		if !taken || ours && !theirs || ours == theirs && n.key < other.key {
			owners[e.canonical] = n
		}
	}
	return owners
}

// fits returns the error that keeps a version out of force, or nil.
func (st *State) fits(v *version, there func(name) bool) *rows.Error {
	if v.err != nil {
		return v.err
	}
	for _, f := range v.refs {
		if f.Good(func(table, key string) bool { _, ok := st.sonic[table][key]; return ok || there(name{table, key}) }) {
			continue
		}
		err := v.row.Missing(f)
		for _, table := range f.Tables {
			n := name{table, f.Key}
			_, ok := st.own[n]
			if _, bad := st.bad.rows[n]; ok || bad {
				err.Reason = fmt.Sprintf("%s|%s is rejected itself", table, text.Cut(f.Key, rows.LongestQuote))
			}
		}
		return err
	}
	return nil
}
