// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"maps"
	"slices"
	"strconv"

	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// Strays implements [engine.Driver]. A reboot empties the ledger, while `config save` has
// kept Sluice's session, and a warm or fast reboot Sluice's rows of APPL_DB: a row that
// has one of Sluice's names, and the content that Sluice writes, is adopted, and so are
// the hash fields in the file [Options].Memory.
func (d *Driver) Strays(existing map[string]*engine.Record, _ map[engine.ID]bool) (int, error) {
	session, err := d.db.read(rows.Row{Table: tableMirror, Key: nameSession})
	if err != nil {
		return 0, err
	}
	table, err := d.db.read(rows.Row{Table: tableACL, Key: nameACL})
	if err != nil {
		return 0, err
	}
	mirror := mirrorObject(exportOf(session), capability{truncate: session["truncate_size"] != ""})
	var needs []string
	if maps.Equal(rowOf(&mirror).Fields, session) {
		needs = []string{mirror.Key}
	}
	objects := append(copyObjects(&engine.Export{Ports: list(table["ports"])}, nil, needs), mirror)
	for _, v6 := range []bool{false, true} {
		objects = append(objects, kindObject(tableOf("", v6)))
	}
	named, err := namesOf(d.db.appl, tableACL, namesTables)
	if err != nil {
		return 0, err
	}
	tables, err := produced(d.db.appl, named...)
	if err != nil {
		return 0, err
	}
	for _, row := range tables {
		if _, name, ok := parseTable(row.Key); ok {
			kind := kindObject(name)
			objects = append(objects, redirectTable(row.Key, &kind, list(row.Fields["ports"])))
		}
	}
	polled, err := d.db.flexLeft()
	if err != nil {
		return 0, err
	}
	streamed, err := d.db.streamLeft()
	if err != nil {
		return 0, err
	}
	objects = slices.Concat(objects, polled, streamed)
	n, err := d.strayFields(existing)
	if err != nil {
		return n, err
	}
	for i := range objects {
		row := rowOf(&objects[i])
		there, err := d.db.read(row)
		if err != nil {
			return n, err
		}
		if key := objects[i].Key; existing[key] == nil && maps.Equal(there, row.Fields) {
			existing[key] = &engine.Record{Object: objects[i], ID: engine.ID(key)}
			n++
		}
	}
	return n, nil
}

// exportOf returns the export settings that a mirror session was written for.
func exportOf(session map[string]string) *engine.Export {
	rate, _ := strconv.ParseUint(session["sample_rate"], 10, 32) // Sluice never writes 0
	return &engine.Export{Rate: uint32(rate), Ports: list(session["src_port"])}
}
