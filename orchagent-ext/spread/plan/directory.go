// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"net/netip"
	"slices"
)

// A Directory knows the leaf that an address is behind, by the prefixes in the leaves' rows.
type Directory struct {
	leaves map[netip.Prefix]string // "": of several leaves, and so void
	names  map[string]bool
	spines map[string]bool
	bits   []int // lengths of prefixes, the longest first
}

// NewDirectory makes one of rows that were read.
func NewDirectory(rows []Row) *Directory {
	d := &Directory{leaves: map[netip.Prefix]string{}, names: map[string]bool{}, spines: map[string]bool{}}
	lengths := map[int]bool{}
	for i := range rows {
		d.names[rows[i].Leaf] = true
		for spine := range rows[i].Spines {
			d.spines[spine] = true
		}
		for _, text := range rows[i].Prefixes {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				continue // it was checked
			}
			name := rows[i].Leaf
			if other, there := d.leaves[p]; there && other != name {
				name = ""
			}
			d.leaves[p], lengths[p.Bits()] = name, true
		}
	}
	d.bits = slices.Sorted(maps.Keys(lengths))
	slices.Reverse(d.bits)
	return d
}

// Has reports whether there is a leaf of a name.
func (d *Directory) Has(leaf string) bool { return d.names[leaf] }

// HasSpine reports whether a leaf has a link to a spine of a name.
func (d *Directory) HasSpine(name string) bool { return d.spines[name] }

// Leaf is the leaf of an address: that of the longest prefix, or "".
func (d *Directory) Leaf(a netip.Addr) string {
	for _, bits := range d.bits {
		if p, err := a.Prefix(bits); err == nil {
			if leaf, there := d.leaves[p]; there {
				return leaf
			}
		}
	}
	return ""
}
