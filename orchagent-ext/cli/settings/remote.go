// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"slices"

	"sluice/yang/rows"
)

// OfSwitch returns a change for a switch that is read from another machine, where rows of PORT
// are known by the ports at which its sluiced counts alone. Where it counts at none, and for
// PortChannels, the switch judges references itself: these count as good.
func OfSwitch(counted bool, change Change) Change {
	return func(c Config) error {
		if err := change(c); err != nil {
			return err
		}
		for _, r := range c.ours() {
			for _, f := range r.References() {
				if !slices.Contains(f.Tables, tablePort) || f.Good(c.there) || counted && !rows.IsPortChannel(f.Key) {
					continue
				}
				lent := rows.Row{Table: tablePort, Key: f.Key}
				c[lent.Name()] = lent
			}
		}
		return nil
	}
}

// Canonical returns the edits with the keys of new rows in the canonical spelling, in which
// sluice-gnmi writes them.
func Canonical(edits []Edit) []Edit {
	all := slices.Clone(edits)
	for i, e := range all {
		if e.Before == nil {
			all[i].Key = e.row(nil).CanonicalKey()
		}
	}
	return all
}

// OfModels returns the rows that tables of the models have: those that can be written from another machine.
func OfModels(all []rows.Row) []rows.Row {
	return slices.DeleteFunc(slices.Clone(all), func(r rows.Row) bool { return !modeled(r) })
}
