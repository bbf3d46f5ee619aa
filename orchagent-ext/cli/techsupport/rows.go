// SPDX-License-Identifier: Apache-2.0

package techsupport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/yang/rows"
)

// Names of databases, and of the tables that have a part of their own or a limit.
const (
	configDB   = "CONFIG_DB"
	stateDB    = "STATE_DB"
	countersDB = "COUNTERS_DB"

	tableFlow        = "SLUICE_FLOW"
	tableObject      = "SLUICE_ASIC_OBJECT"
	tableConfigError = "SLUICE_CONFIG_ERROR"

	mostFlows = 200
)

// state returns the tables of the model in STATE_DB that other parts leave out.
func state(ctx context.Context, c *Config) ([]Item, error) {
	return c.read(ctx, stateDB, slices.DeleteFunc(rows.Tables(stateDB), func(name string) bool {
		return name == tableFlow || name == tableObject || name == tableConfigError
	})...)
}

// configuration leaves of PORT the names: the rest is SONiC's.
func configuration(ctx context.Context, c *Config) ([]Item, error) {
	items, err := c.read(ctx, configDB, append(rows.Tables(configDB), "SWITCH_HASH")...)
	ports, portErr := c.Read(ctx, configDB, "PORT")
	var names []string
	for _, p := range ports {
		names = append(names, p.Key)
	}
	if portErr == nil {
		items = append(items, Item{Name: "PORT", Fields: map[string]string{"count": fmt.Sprint(len(names)), "names": strings.Join(names, " ")}})
	}
	return items, errors.Join(err, portErr)
}

// counters returns all tables of COUNTERS_DB.
func counters(ctx context.Context, c *Config) ([]Item, error) {
	return c.read(ctx, countersDB, rows.Tables(countersDB)...)
}

// objects returns the ledger: the objects of Sluice on the switch.
func objects(ctx context.Context, c *Config) ([]Item, error) {
	return c.read(ctx, stateDB, tableObject)
}

// warmRestart returns the rows of warm restarts that concern Sluice or the system.
func warmRestart(ctx context.Context, c *Config) ([]Item, error) {
	items, err := c.read(ctx, stateDB, "WARM_RESTART_TABLE", "WARM_RESTART_ENABLE_TABLE")
	return slices.DeleteFunc(items, func(item Item) bool {
		_, key, _ := strings.Cut(item.Name, "|")
		return key != "sluiced" && key != "sluice" && key != "system"
	}), err
}

// flows are the heaviest.
func flows(ctx context.Context, c *Config) ([]Item, error) {
	items, err := c.read(ctx, stateDB, tableFlow)
	octets := func(item Item) uint64 {
		n, err := strconv.ParseUint(item.Fields["bytes"], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(octets(b), octets(a)) })
	return items[:min(mostFlows, len(items))], err
}

// lastErrors returns the rows of SLUICE_CONFIG_ERROR, and the fields of other rows that
// hold an error.
func lastErrors(ctx context.Context, c *Config) ([]Item, error) {
	items, err := c.read(ctx, stateDB, tableConfigError)
	told, stateErr := state(ctx, c)
	counted, countersErr := counters(ctx, c)
	for _, item := range append(told, counted...) {
		wrong := map[string]string{}
		for name, value := range item.Fields {
			if name == "warnings" || strings.HasPrefix(name, "last_error") {
				wrong[name] = value
			}
		}
		if len(wrong) > 0 {
			items = append(items, Item{Name: item.Name, Fields: wrong})
		}
	}
	return items, errors.Join(err, stateErr, countersErr)
}

// read returns rows of tables as items.
func (c *Config) read(ctx context.Context, database string, tables ...string) ([]Item, error) {
	all, err := c.Read(ctx, database, tables...)
	items := make([]Item, len(all))
	for i, r := range all {
		items[i] = Item{Name: r.Name(), Fields: r.Fields}
	}
	return items, err
}
