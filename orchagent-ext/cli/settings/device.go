// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"maps"
	"slices"

	"sluice/yang/rows"
)

// Tables that describe ports.
const (
	tablePort    = "PORT"
	tableChannel = "PORTCHANNEL"
	tableOurs    = "SLUICE_PORT"
)

// deviceFields are those of a row of PORT that makes a network device a port of the switch.
var deviceFields = map[string]string{"admin_status": "up"}

// WithDevices returns a change that also writes the rows of PORT which a change of
// SLUICE_PORT asks for, and removes them with it. This is for machines without SONiC,
// whose ports are network devices: SONiC's own rows of PORT have lanes, and such a table
// stays as it is.
func WithDevices(change Change, devices []string) Change {
	return func(c Config) error {
		before := maps.Clone(c)
		if err := change(c); err != nil || c.ofSONiC() {
			return err
		}
		for _, key := range c.Keys(tableOurs) {
			port := rows.Row{Table: tablePort, Key: key, Fields: deviceFields}
			switch {
			case c.there(tablePort, key) || c.there(tableChannel, key):
			case slices.Contains(devices, key):
				c[port.Name()] = port
			case !before.there(tableOurs, key):
				names := slices.Concat(c.Keys(tablePort), c.Keys(tableChannel), devices)
				slices.SortFunc(names, rows.Natural)
				return &rows.Error{Table: tableOurs, Key: key, Field: "name", Value: key,
					Reason: "no such network device, nor row in PORT or PORTCHANNEL; there are: " + listed(slices.Compact(names))}
			}
		}
		for _, key := range before.Keys(tableOurs) {
			if port := (rows.Row{Table: tablePort, Key: key}); !c.there(tableOurs, key) && isDevice(c[port.Name()]) {
				delete(c, port.Name())
			}
		}
		return nil
	}
}

// there reports whether a table has a row.
func (c Config) there(table, key string) bool {
	_, there := c[rows.Row{Table: table, Key: key}.Name()]
	return there
}

// ofSONiC reports whether the ports are SONiC's.
func (c Config) ofSONiC() bool {
	for _, r := range c {
		if r.Table == tablePort && r.Fields["lanes"] != "" {
			return true
		}
	}
	return false
}

// isDevice reports whether a row is one that [WithDevices] writes.
func isDevice(r rows.Row) bool {
	return r.Table == tablePort && maps.Equal(r.Fields, deviceFields)
}
