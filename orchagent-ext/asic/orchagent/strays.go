package orchagent

import (
	"maps"
	"strconv"

	"sluice/orchagent-ext/asic"
	"sluice/yang/rows"
)

// Strays implements [asic.Driver]. A reboot empties the ledger, while `config save`
// has kept our rows: what has one of our names, and is as we would have written it,
// is taken over, and so are hash fields of which the file of [Driver.Remember] tells.
func (d *Driver) Strays(stands map[string]*asic.Record) (int, error) {
	found, err := get(d.config, rows.Row{Table: tableMirror, Key: nameSession}, rows.Row{Table: "ACL_TABLE", Key: nameACL})
	if err != nil {
		return 0, err
	}
	session, table := found[0], found[1]
	mirror := mirrorObject(exportOf(session), capability{truncate: session["truncate_size"] != ""})
	var needs []string
	if maps.Equal(rowOf(&mirror).Fields, session) {
		needs = []string{mirror.Key}
	}
	objects := append(copyObjects(&asic.Export{Ports: list(table["ports@"])}, nil, needs), mirror)
	written := make([]rows.Row, len(objects))
	for i := range objects {
		written[i] = rowOf(&objects[i])
	}
	if found, err = get(d.config, written...); err != nil {
		return 0, err
	}
	n, err := d.strayFields(stands)
	if err != nil {
		return n, err
	}
	for i, o := range objects {
		if stands[o.Key] == nil && maps.Equal(found[i], written[i].Fields) {
			stands[o.Key] = &asic.Record{Object: o, ID: asic.ID(o.Key)}
			n++
		}
	}
	return n, nil
}

// exportOf reads back what a mirror session was written for.
func exportOf(session map[string]string) *asic.Export {
	rate, _ := strconv.ParseUint(session["sample_rate"], 10, 32) // 0 is no rate of ours
	return &asic.Export{Rate: uint32(rate), Ports: list(session["src_port"])}
}
