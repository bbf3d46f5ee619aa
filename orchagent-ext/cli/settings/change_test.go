// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strings"
	"testing"

	"sluice/yang/rows"
)

// row makes a row of a name and pairs of field and value.
func row(name string, pairs ...string) rows.Row {
	table, key, _ := strings.Cut(name, "|")
	r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Fields[pairs[i]] = pairs[i+1]
	}
	return r
}

func table(t *testing.T, command string) *Table {
	t.Helper()
	for _, one := range Tables() {
		if one.Command == command {
			return &one
		}
	}
	t.Fatalf("no table %s", command)
	return nil
}

// configured is a configuration of some ports, with a row that is wrong.
func configured() Config {
	all := []rows.Row{row("SLUICE_PORT|Ethernet4", "role", "core"), row("SLUICE_PORT|Ethernet8", "role", "edge")}
	for i := range 12 {
		all = append(all, row(fmt.Sprintf("PORT|Ethernet%d", 4*i), "lanes", "0"))
	}
	return NewConfig(all)
}

func said(lines []Line) string {
	var all []string
	for _, l := range lines {
		sign := "-"
		if l.Added {
			sign = "+"
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(sign, l.Row, " ", l.Field, " ", l.Value)))
	}
	return strings.Join(all, "; ")
}

func TestChangesAreJudgedAsAWhole(t *testing.T) {
	set := func(command, key string, pairs ...string) Change {
		return table(t, command).Set(key, row("x|y", pairs...).Fields)
	}
	del := func(command, key, option string) Change { return table(t, command).Del(key, option) }
	for _, tt := range []struct {
		name   string
		change Change
		want   string // what differs
		err    string
	}{
		{"new row", set("port", "Ethernet0", "role", "edge"), "+SLUICE_PORT|Ethernet0 role edge", ""},
		{"row without fields", set("port", "Ethernet0"), "", "nothing to set: give one of --flow-label, --role, --threshold, --upstream-neighbor"},
		{"other fields stay", set("port", "Ethernet8", "flow_label", "disabled"), "+SLUICE_PORT|Ethernet8 flow_label disabled", ""},
		{"as it is", set("port", "Ethernet8", "role", "edge"), "", ""},
		{"list", set("threshold", "gold", "high_bytes", "9", "queues", "3,4"), "+SLUICE_THRESHOLD|gold high_bytes 9; +SLUICE_THRESHOLD|gold queues@ 3,4", ""},
		{"field removed", del("port", "Ethernet8", "role"), "-SLUICE_PORT|Ethernet8 role edge", ""},
		{"row removed", del("port", "Ethernet8", ""), "-SLUICE_PORT|Ethernet8 role edge", ""},
		{"wrong row removed", del("port", "Ethernet4", ""), "-SLUICE_PORT|Ethernet4 role core", ""},
		{"wrong row mended", set("port", "Ethernet4", "role", "border"), "-SLUICE_PORT|Ethernet4 role core; +SLUICE_PORT|Ethernet4 role border", ""},
		{"wrong row stays wrong", set("port", "Ethernet4", "flow_label", "enabled"), "", `SLUICE_PORT|Ethernet4: role "core": must be one of edge, fabric, border`},
		{"unknown value", set("flow-label", "global", "algorithm", "md5"), "", `SLUICE_FLOW_LABEL|global: algorithm "md5": must be one of draft-literal, crc32`},
		{
			"no such port", set("port", "Ethernet9", "role", "edge"), "",
			`SLUICE_PORT|Ethernet9: name "Ethernet9": no such row in PORT or PORTCHANNEL; there are: Ethernet0, Ethernet4, Ethernet8, Ethernet12, Ethernet16, Ethernet20, Ethernet24, Ethernet28, …`,
		},
		{"no such threshold", set("port", "Ethernet0", "threshold", "gold"), "", `SLUICE_PORT|Ethernet0: threshold "gold": no such row in SLUICE_THRESHOLD; there are: none`},
		{"needed field", set("ipfix-collector", "gold"), "", "SLUICE_IPFIX_COLLECTOR|gold: address: is missing, and has no default"},
		{"two rows clash", set("pfcm", "global", "icmpv6_type", "201"), "", `SLUICE_PFCM|global: icmpv6_type "201": must not be icmpv6_type of SLUICE_PPFC|global: nothing else tells the messages apart`},
		{"nothing given", set("flow-label", "global"), "", "nothing to set: give one of --admin-state, --algorithm, --hash-ports, --manage-switch-hash, --rewrite, --tunnels"},
		{"empty list", set("threshold", "gold", "high_bytes", "9", "queues", ""), "", "SLUICE_THRESHOLD|gold: queues: must be 1..8 of these, with commas between: a decimal number, 0..7; del removes it"},
		{"hidden characters", set("ipfix-collector", "gold", "address", "::1", "ca_file", "/a\u202eb"), "", `SLUICE_IPFIX_COLLECTOR|gold: ca_file "/a\u202eb": must have characters only that a terminal shows`},
		{"no such row", del("port", "Ethernet0", ""), "", "SLUICE_PORT|Ethernet0: no such row; there are: Ethernet4, Ethernet8"},
		{"no such field", del("port", "Ethernet8", "color"), "", `SLUICE_PORT|Ethernet8: "color": no such field; there are: flow-label, role, threshold, upstream-neighbor`},
		{"field not set", del("port", "Ethernet8", "flow-label"), "", "SLUICE_PORT|Ethernet8: flow_label: is not set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := configured()
			_, edits, err := c.Apply(tt.change)
			if fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") {
				t.Errorf("error %v\n want %s", err, tt.err)
			}
			if got := said(Lines(edits)); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
			if left := Compare(configured(), c); len(left) != 0 {
				t.Errorf("the configuration itself has changed: %v", left)
			}
		})
	}
}

// What a row needs may come with it, and what others need may go with them.
func TestSeveralRowsAreOneChange(t *testing.T) {
	gold := []rows.Row{row("SLUICE_PORT|Ethernet0", "threshold", "gold"), row("SLUICE_THRESHOLD|gold", "high_bytes", "9")}
	next, edits, err := configured().Apply((&File{Rows: gold}).Load())
	if err != nil || len(edits) != 2 {
		t.Fatalf("%v, %v", edits, err)
	}
	if _, _, err := next.Apply(table(t, "threshold").Del("gold", "")); err == nil || !strings.Contains(err.Error(), "SLUICE_PORT|Ethernet0: threshold") {
		t.Errorf("a threshold that a port has is removed: %v", err)
	}
	_, _, err = configured().Apply((&File{Rows: []rows.Row{row("SLUICE_FLOWLABEL|global", "x", "y")}}).Load())
	if want := "SLUICE_FLOWLABEL|global: no such table; SLUICE_FLOW_LABEL is one"; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestLastFieldOfTheOnlyRowTakesTheRowWithIt(t *testing.T) {
	c := NewConfig([]rows.Row{row("SLUICE_FLOW_LABEL|global", "algorithm", "crc32")})
	next, _, err := c.Apply(table(t, "flow-label").Del("global", "algorithm"))
	if err != nil || len(next) != 0 {
		t.Errorf("%v, %v", next, err)
	}
}

// An idle field that a row of an earlier version has can be removed: its warning ends so.
func TestIdleFieldIsRemoved(t *testing.T) {
	row := rows.Row{Table: "SLUICE", Key: "global", Fields: map[string]string{"etcd_allow_plaintext": "true"}}
	next, _, err := Config{row.Name(): row}.Apply(table(t, "global").Del("global", "etcd-allow-plaintext"))
	if err != nil || len(next) != 0 {
		t.Errorf("%v, %v", next, err)
	}
}

// No command pretends to set what the daemon does nothing with.
func TestCommandsHaveTheFieldsOfTheModelButIdleOnes(t *testing.T) {
	fields := 0
	for _, one := range Tables() {
		if one.Help == "" {
			t.Errorf("%s: no help", one.Name)
		}
		for _, l := range one.Leaves {
			fields++
			if l.Allowed == "" {
				t.Errorf("%s %s: what it takes is not said", one.Name, l.Name)
			}
		}
		fields += len(idle[one.Name])
		for _, name := range idle[one.Name] {
			if d, _ := rows.Describe(one.Name); !has(d, name) || has(one.Description, name) {
				t.Errorf("%s: %s has a command, or is no field", one.Name, name)
			}
		}
	}
	want := 0
	for _, name := range rows.Tables("CONFIG_DB") {
		want += len(rows.Fields(name))
	}
	if fields != want || want == 0 {
		t.Errorf("%d fields, want %d", fields, want)
	}
}

func has(d rows.Description, leaf string) bool { _, there := d.Leaf(leaf); return there }

func TestFilesOfSONiCAreRead(t *testing.T) {
	const text = `{"PORT": {"Ethernet0": {"lanes": "0"}}, "SLUICE": {"global": {"etcd_endpoints": ["http://a:1", "http://b:1"], "cpu_rate": 5}},
		"SLUICE_PPFC_PEER": {"::/0": {"NULL": "NULL"}}, "SLUICE_FLOW_LABEL": {"global": {"manage_switch_hash": true}}, "SLUICEGATE": []}`
	f, err := Parse(strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	want := "+SLUICE|global cpu_rate 5; +SLUICE|global etcd_endpoints@ http://a:1,http://b:1; +SLUICE_FLOW_LABEL|global manage_switch_hash true; +SLUICE_PPFC_PEER|::/0"
	if got := said(Lines(Compare(Config{}, NewConfig(f.Rows)))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, wrong := range []string{"", "[]", `{"SLUICE": []}`, `{"SLUICE": {"global": {"cpu_rate": {}}}}`, `{"SLUICE": {"global": {"cpu_rate": null}}}`} {
		if f, err := Parse(strings.NewReader(wrong), ""); err == nil {
			t.Errorf("%s: %v", wrong, f)
		}
	}
}

// TestFilesRemoveRowsThatAreNull: as config load of SONiC does. A table that is null, in another case or of
// no use is an error, and of a file for several ASICs the part of the namespace counts.
func TestFilesRemoveRowsThatAreNull(t *testing.T) {
	const several = `{"localhost": {"SLUICE_PORT": {"Ethernet0": {"role": "edge"}}}, "asic0": {"SLUICE_PORT": {"Ethernet8": null}}, "asic1": {"PORT": {}}}`
	for name, tt := range map[string]struct{ text, namespace, want, err string }{
		"null":                   {`{"SLUICE_PORT": {"Ethernet8": null, "Ethernet0": {"role": "edge"}}}`, "", "+SLUICE_PORT|Ethernet0 role edge; -SLUICE_PORT|Ethernet8 role edge", ""},
		"null, and no such row":  {`{"SLUICE_PORT": {"Ethernet0": null}}`, "", "", ""},
		"null of no table":       {`{"SLUICE_PORTS": {"Ethernet0": null}}`, "", "", "SLUICE_PORTS|Ethernet0: no such table"},
		"a table that is null":   {`{"SLUICE_PORT": null}`, "", "", "SLUICE_PORT: must be rows by key: null is for each row"},
		"a port that is null":    {`{"PORT": {"Ethernet0": null}, "SLUICE": {}}`, "", "", ""},
		"the host":               {several, "", "+SLUICE_PORT|Ethernet0 role edge", ""},
		"an ASIC":                {several, "asic0", "-SLUICE_PORT|Ethernet8 role edge", ""},
		"an ASIC without rows":   {several, "asic1", "", "has no table of Sluice, as SLUICE_PORT"},
		"an ASIC without a part": {several, "asic2", "", "has the parts asic0, asic1, localhost, and none of asic2"},
		"a part that is no part": {`{"localhost": []}`, "", "", "localhost: is not in the form of config_db.json"},
		"no table":               {`{"VLAN": {}, "PORT": {"Ethernet0": {"lanes": "1"}}}`, "", "", "has no table of Sluice, as SLUICE_PORT"},
		"nothing":                {`{}`, "", "", "has no table of Sluice, as SLUICE_PORT"},
		"lower case":             {`{"sluice_port": {"Ethernet0": {"role": "edge"}}}`, "", "", `"sluice_port" is the name of no table: is SLUICE_PORT meant?`},
		"mixed case":             {`{"Sluice": {}}`, "", "", `"Sluice" is the name of no table: is SLUICE meant?`},
		"ports in lower case":    {`{"port": {"eth1": {"admin_status": "up"}}, "SLUICE": {}}`, "", "", `"port" is the name of no table: is PORT meant?`},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Parse(strings.NewReader(tt.text), tt.namespace)
			var edits []Edit
			if err == nil {
				_, edits, err = configured().Apply(f.Load())
			}
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("%v, want %s", err, tt.err)
			}
			if got := said(Lines(edits)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
