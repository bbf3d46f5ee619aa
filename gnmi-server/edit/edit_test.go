// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/paths"
)

// What requests make of the configuration.
func TestRequestsChangeRows(t *testing.T) {
	two := config("SLUICE_THRESHOLD|gold high_bytes=7 low_bytes=3 queues@=1,2", "SLUICE_THRESHOLD|iron high_bytes=8")
	for name, tt := range map[string]struct {
		before []string // nil: two
		r      *gpb.SetRequest
		want   []string
	}{
		"nothing": {nil, &gpb.SetRequest{}, nil},
		"delete, replace and update, in this order": {
			[]string{"SLUICE_FLOW_LABEL|global admin_state=enabled rewrite=always"},
			&gpb.SetRequest{
				Update:  []*gpb.Update{set(label+"/algorithm", `"crc32"`)},
				Replace: []*gpb.Update{set(label, `{"algorithm":"draft-literal","manage_switch_hash":true}`)},
				Delete:  []*gpb.Path{path(label + "/algorithm"), path(label)},
			},
			[]string{"SLUICE_FLOW_LABEL|global algorithm=crc32 manage_switch_hash=true"},
		},
		"of replaces of one path the last counts": {
			nil,
			&gpb.SetRequest{Replace: []*gpb.Update{set(label, `{"algorithm":"crc32","rewrite":"always"}`), set(label, `{"rewrite":"zero-only"}`)}},
			[]string{"SLUICE_FLOW_LABEL|global rewrite=zero-only"},
		},
		"a replace takes away what one above it has said": {
			[]string{"SLUICE_PFCM|global admin_state=enabled"},
			&gpb.SetRequest{Replace: []*gpb.Update{set("/", `{"sonic-sluice":{"SLUICE_FLOW_LABEL":{"global":{"algorithm":"crc32","rewrite":"always"}}}}`), set(label, `{"rewrite":"zero-only"}`)}},
			[]string{"SLUICE_FLOW_LABEL|global rewrite=zero-only", "SLUICE_PFCM|global gone"},
		},
		"what is as it was does not change": {
			[]string{"SLUICE_FLOW_LABEL|global algorithm=crc32"},
			&gpb.SetRequest{Delete: []*gpb.Path{path(label)}, Update: []*gpb.Update{set(label+"/algorithm", `"crc32"`)}},
			nil,
		},
		"a default that is set is in the row": {nil, &gpb.SetRequest{Update: []*gpb.Update{set(label+"/algorithm", `"draft-literal"`)}}, []string{"SLUICE_FLOW_LABEL|global algorithm=draft-literal"}},
		"the last leaf of a container takes the row with it": {
			[]string{"SLUICE_FLOW_LABEL|global algorithm=crc32"},
			&gpb.SetRequest{Delete: []*gpb.Path{path(label + "/algorithm")}},
			[]string{"SLUICE_FLOW_LABEL|global gone"},
		},
		"the last leaf of an entry does not": {
			[]string{"SLUICE_PORT|a role=edge", "PORT|a"},
			&gpb.SetRequest{Delete: []*gpb.Path{path("/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=a]/role")}},
			[]string{"SLUICE_PORT|a"},
		},
		"a leaf-list is replaced, not appended to": {
			nil,
			&gpb.SetRequest{Update: []*gpb.Update{set(gold+"/queues", `[5,3]`)}},
			[]string{"SLUICE_THRESHOLD|gold high_bytes=7 low_bytes=3 queues@=5,3"},
		},
		"an empty leaf-list is no field":            {nil, &gpb.SetRequest{Update: []*gpb.Update{set(gold+"/queues", `[]`)}}, []string{"SLUICE_THRESHOLD|gold high_bytes=7 low_bytes=3"}},
		"a leaf-list is deleted":                    {nil, &gpb.SetRequest{Delete: []*gpb.Path{path(gold + "/queues")}}, []string{"SLUICE_THRESHOLD|gold high_bytes=7 low_bytes=3"}},
		"an entry":                                  {nil, &gpb.SetRequest{Delete: []*gpb.Path{path(gold)}}, []string{"SLUICE_THRESHOLD|gold gone"}},
		"an entry that is not there":                {nil, &gpb.SetRequest{Delete: []*gpb.Path{path(table + "/SLUICE_THRESHOLD_LIST[name=tin]")}}, nil},
		"a leaf of all entries":                     {nil, &gpb.SetRequest{Delete: []*gpb.Path{path(table + "/*/low_bytes")}}, []string{"SLUICE_THRESHOLD|gold high_bytes=7 queues@=1,2"}},
		"entries by ...":                            {nil, &gpb.SetRequest{Delete: []*gpb.Path{path("/.../SLUICE_THRESHOLD_LIST[name=gold]")}}, []string{"SLUICE_THRESHOLD|gold gone"}},
		"a leaf by ...":                             {nil, &gpb.SetRequest{Delete: []*gpb.Path{path("/.../low_bytes")}}, []string{"SLUICE_THRESHOLD|gold high_bytes=7 queues@=1,2"}},
		"the key, of all entries, takes away none":  {nil, &gpb.SetRequest{Delete: []*gpb.Path{path(table + "/*/name")}}, nil},
		"all by the root":                           {nil, &gpb.SetRequest{Delete: []*gpb.Path{path("/")}}, []string{"SLUICE_THRESHOLD|gold gone", "SLUICE_THRESHOLD|iron gone"}},
		"all by the database":                       {nil, &gpb.SetRequest{Delete: []*gpb.Path{path("sonic-db:/CONFIG_DB")}}, []string{"SLUICE_THRESHOLD|gold gone", "SLUICE_THRESHOLD|iron gone"}},
		"a list by another one":                     {nil, &gpb.SetRequest{Replace: []*gpb.Update{set(table+"/SLUICE_THRESHOLD_LIST", `[{"name":"tin","high_bytes":2}]`)}}, []string{"SLUICE_THRESHOLD|gold gone", "SLUICE_THRESHOLD|iron gone", "SLUICE_THRESHOLD|tin high_bytes=2"}},
		"a list by none":                            {nil, &gpb.SetRequest{Replace: []*gpb.Update{set(table+"/SLUICE_THRESHOLD_LIST", `[]`)}}, []string{"SLUICE_THRESHOLD|gold gone", "SLUICE_THRESHOLD|iron gone"}},
		"a list, updated":                           {nil, &gpb.SetRequest{Update: []*gpb.Update{set(table+"/SLUICE_THRESHOLD_LIST", `[{"name":"iron","high_bytes":9}]`)}}, []string{"SLUICE_THRESHOLD|iron high_bytes=9"}},
		"an entry of nothing but its key":           {nil, &gpb.SetRequest{Update: []*gpb.Update{set(peers+"/SLUICE_PPFC_PEER_LIST[prefix=10.0.0.0/8]", `{"prefix":"10.0.0.0/8"}`)}}, []string{"SLUICE_PPFC_PEER|10.0.0.0/8"}},
		"an entry of nothing but its key, by leaf":  {nil, &gpb.SetRequest{Update: []*gpb.Update{set(peers+"/SLUICE_PPFC_PEER_LIST[prefix=10.0.0.0/8]/prefix", `"10.0.0.0/8"`)}}, []string{"SLUICE_PPFC_PEER|10.0.0.0/8"}},
		"an entry of nothing but its key, sonic-db": {nil, &gpb.SetRequest{Update: []*gpb.Update{set("sonic-db:/CONFIG_DB/localhost/SLUICE_PPFC_PEER", `{"10.0.0.0/8":{"NULL":"NULL"}}`)}}, []string{"SLUICE_PPFC_PEER|10.0.0.0/8"}},
		"keys with marks of paths":                  {nil, &gpb.SetRequest{Update: []*gpb.Update{set(peers, `{"SLUICE_PPFC_PEER_LIST":[{"prefix":"2001:db8::/32"}]}`)}}, []string{"SLUICE_PPFC_PEER|2001:db8::/32"}},
		"a prefix":                                  {nil, &gpb.SetRequest{Prefix: path(table), Delete: []*gpb.Path{path("/SLUICE_THRESHOLD_LIST[name=iron]")}}, []string{"SLUICE_THRESHOLD|iron gone"}},
		"a union of two": {
			nil,
			&gpb.SetRequest{UnionReplace: []*gpb.Update{set(gold, `{"name":"gold","high_bytes":9}`), set("sonic-db:/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold", `{"high_bytes":"9","action":"reduce"}`)}},
			[]string{"SLUICE_THRESHOLD|gold action=reduce high_bytes=9"},
		},
		"a union removes before it writes, in whatever order": {
			nil,
			&gpb.SetRequest{UnionReplace: []*gpb.Update{set(gold+"/low_bytes", `1`), set(table, `{"SLUICE_THRESHOLD_LIST":[{"name":"gold","high_bytes":9}]}`)}},
			[]string{"SLUICE_THRESHOLD|gold high_bytes=9 low_bytes=1", "SLUICE_THRESHOLD|iron gone"},
		},
		"a row by its replacement in one request": {
			nil,
			&gpb.SetRequest{Delete: []*gpb.Path{path(gold)}, Update: []*gpb.Update{set(iron+"/low_bytes", `2`)}},
			[]string{"SLUICE_THRESHOLD|gold gone", "SLUICE_THRESHOLD|iron high_bytes=8 low_bytes=2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := two
			if tt.before != nil {
				before = config(tt.before...)
			}
			got, err := outcome(t, before, tt.r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSpellingsOfAKeyAreOneRow: an operation changes the row that is there, whichever way the
// address of its key is written in path and value. A new row has the canonical spelling.
func TestSpellingsOfAKeyAreOneRow(t *testing.T) {
	const there, gateways = "2001:Db8::/32", "/sonic-sluice/SLUICE_PPFC_GATEWAY"
	before := config("SLUICE_PPFC_GATEWAY|"+there+" gateway=2001:db8::1", "SLUICE_PPFC_PEER|2001:DB8::/32", "SLUICE_PPFC_PEER|2001:Db8::/32")
	changed := []string{"SLUICE_PPFC_GATEWAY|" + there + " gateway=2001:db8::2"}
	for _, key := range []string{"2001:db8::/32", there, "2001:0db8:0::0/32", "2001:db8::1/32"} {
		entry, leaf := gateways+"/SLUICE_PPFC_GATEWAY_LIST[prefix="+key+"]", `{"prefix":"`+key+`","gateway":"2001:db8::2"}`
		canonical := `{"prefix":"2001:db8::/32","gateway":"2001:db8::2"}`
		for name, tt := range map[string]struct {
			r    *gpb.SetRequest
			want []string
		}{
			"update of a leaf":         {&gpb.SetRequest{Update: []*gpb.Update{set(entry+"/gateway", `"2001:db8::2"`)}}, changed},
			"update":                   {&gpb.SetRequest{Update: []*gpb.Update{set(entry, leaf)}}, changed},
			"another one in the value": {&gpb.SetRequest{Update: []*gpb.Update{set(entry, canonical)}}, changed},
			"replace":                  {&gpb.SetRequest{Replace: []*gpb.Update{set(entry, leaf)}}, changed},
			"replace of the list":      {&gpb.SetRequest{Replace: []*gpb.Update{set(gateways, `{"SLUICE_PPFC_GATEWAY_LIST":[`+leaf+`]}`)}}, changed},
			"union":                    {&gpb.SetRequest{UnionReplace: []*gpb.Update{set(entry, leaf), set(entry+"/gateway", `"2001:db8::2"`)}}, changed},
			"sonic-db":                 {&gpb.SetRequest{Update: []*gpb.Update{set("sonic-db:/CONFIG_DB/localhost/SLUICE_PPFC_GATEWAY", `{"`+key+`":{"gateway":"2001:db8::2"}}`)}}, changed},
			"delete":                   {&gpb.SetRequest{Delete: []*gpb.Path{path(entry)}}, []string{"SLUICE_PPFC_GATEWAY|" + there + " gone"}},
			"delete of both":           {&gpb.SetRequest{Delete: []*gpb.Path{path(peers + "/SLUICE_PPFC_PEER_LIST[prefix=" + key + "]")}}, []string{"SLUICE_PPFC_PEER|2001:DB8::/32 gone", "SLUICE_PPFC_PEER|2001:Db8::/32 gone"}},
			"a new one":                {&gpb.SetRequest{Update: []*gpb.Update{set("/sonic-sluice/SLUICE_RATE_ADVICE_HOST/SLUICE_RATE_ADVICE_HOST_LIST[prefix="+key+"]", `{}`)}}, []string{"SLUICE_RATE_ADVICE_HOST|2001:db8::/32"}},
		} {
			got, err := outcome(t, before, tt.r)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%s of %s: %v (-want +got):\n%s", name, key, err, diff)
			}
		}
	}
}

// Requests that are refused, and what the error says.
func TestBadRequestsAreRefused(t *testing.T) {
	before := config("SLUICE_THRESHOLD|gold high_bytes=7 low_bytes=3", "SLUICE_PORT|Ethernet0 threshold=gold", "PORT|Ethernet0")
	update := func(p, json string) *gpb.SetRequest { return &gpb.SetRequest{Update: []*gpb.Update{set(p, json)}} }
	replace := func(p, json string) *gpb.SetRequest { return &gpb.SetRequest{Replace: []*gpb.Update{set(p, json)}} }
	remove := func(p string) *gpb.SetRequest { return &gpb.SetRequest{Delete: []*gpb.Path{path(p)}} }
	for name, tt := range map[string]struct {
		r    *gpb.SetRequest
		says string
	}{
		"state":                          {update("/sonic-sluice-state/SLUICE_STATE/global/state", `"running"`), "update /sonic-sluice-state/SLUICE_STATE/global/state: is state"},
		"state, deleted":                 {remove("/sonic-sluice-state"), "delete /sonic-sluice-state: is state"},
		"state below the root":           {update("/", `{"sonic-sluice-state":{"SLUICE_STATE":{"global":{"state":"running"}}}}`), "sonic-sluice-state: no such node here"},
		"a union beside a delete":        {&gpb.SetRequest{UnionReplace: []*gpb.Update{set(label, `{}`)}, Delete: []*gpb.Path{path(label)}}, "union_replace cannot be combined"},
		"a union that contradicts":       {&gpb.SetRequest{UnionReplace: []*gpb.Update{set(label, `{"rewrite":"always"}`), set(label+"/rewrite", `"zero-only"`)}}, `SLUICE_FLOW_LABEL|global rewrite is "zero-only" here and "always" elsewhere in the union`},
		"a value for wildcards":          {update(table+"/*/low_bytes", `1`), "wildcards are for delete only"},
		"a value for ...":                {update("/.../low_bytes", `1`), "wildcards are for delete only"},
		"a value without key":            {update(table+"/SLUICE_THRESHOLD_LIST/low_bytes", `1`), "wildcards are for delete only"},
		"a key, deleted":                 {remove(gold + "/name"), "is in the key, and goes with its row only"},
		"a key, replaced":                {replace(gold+"/name", `"gold"`), "is in the key, and goes with its row only"},
		"a key that contradicts":         {update(gold, `{"name":"iron"}`), `name: "iron" contradicts the key, which is "gold"`},
		"an entry replaced by {}":        {replace(gold, `{}`), "the value has no key; to remove the row, delete it"},
		"two keys, one given":            {update("/sonic-sluice-state/SLUICE_CONFIG_ERROR/SLUICE_CONFIG_ERROR_LIST[table=x]/reason", `"y"`), "key key is missing"},
		"a row that no path can name":    {update(table, `{"SLUICE_THRESHOLD_LIST":[{"name":"*","high_bytes":2}]}`), `no path can name a row with the key "*"`},
		"no value":                       {&gpb.SetRequest{Update: []*gpb.Update{{Path: path(label)}}}, "the value is missing"},
		"a mandatory leaf, deleted":      {remove(gold + "/high_bytes"), "SLUICE_THRESHOLD|gold: high_bytes: is missing"},
		"a row that others refer to":     {remove(gold), "SLUICE_PORT|Ethernet0: threshold \"gold\""},
		"a port that is not there":       {update("/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=Ethernet9]/role", `"edge"`), "SLUICE_PORT|Ethernet9"},
		"must":                           {update(gold+"/low_bytes", `7`), "low_bytes must be less than high_bytes"},
		"a range":                        {update(gold+"/reduction", `64`), "SLUICE_THRESHOLD|gold: reduction \"64\": must be"},
		"a path that no model has":       {update("/sonic-sluice/SLUICE_PROT", `1`), `update: path /sonic-sluice/SLUICE_PROT: no "SLUICE_PROT" here`},
		"... of a database":              {remove("sonic-db:/CONFIG_DB/localhost/.../gold"), "... is not for origin sonic-db"},
		"the second of two operations":   {&gpb.SetRequest{Update: []*gpb.Update{set(label+"/rewrite", `"always"`), set(label+"/color", `"red"`)}}, `no "color" here`},
		"a field of the key in sonic-db": {update("sonic-db:/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold", `{"name":"gold"}`), "is in the key, not a field"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := outcome(t, before, tt.r)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, %v; want an error that says %q", got, err, tt.says)
			}
		})
	}
}

func TestErrorsHaveReasons(t *testing.T) {
	_, err := Operations(&gpb.SetRequest{UnionReplace: []*gpb.Update{set(label, `{}`)}, Update: []*gpb.Update{set(label, `{}`)}}, nil)
	if !errors.Is(err, ErrMixed) {
		t.Errorf("a union beside an update: %v", err)
	}
	_, err = Operations(&gpb.SetRequest{Delete: []*gpb.Path{path("/sonic-sluice-state")}}, nil)
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("a delete of state: %v", err)
	}
}

// Operations come in the order in which they are applied, whatever the request's.
func TestOperationsComeInOrder(t *testing.T) {
	all, err := Operations(&gpb.SetRequest{
		Update:  []*gpb.Update{set(label+"/rewrite", `"always"`), set(label+"/algorithm", `"crc32"`)},
		Replace: []*gpb.Update{set(label, `{"admin_state":"enabled"}`)},
		Delete:  []*gpb.Path{path(gold), path(label)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range all {
		got = append(got, all[i].String())
	}
	want := []string{"delete " + gold, "delete " + label, "replace " + label, "update " + label + "/rewrite", "update " + label + "/algorithm"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

// A row that was wrong before blocks only changes of itself.
func TestCheckOfWrongRows(t *testing.T) {
	before := config("SLUICE_THRESHOLD|bad high_bytes=many", "SLUICE_THRESHOLD|gold high_bytes=7", "SLUICE_PORT|Ethernet0 role=core")
	for name, tt := range map[string]struct {
		r    *gpb.SetRequest
		want []string
		says string
	}{
		"another row":          {&gpb.SetRequest{Update: []*gpb.Update{set(gold+"/low_bytes", `1`)}}, []string{"SLUICE_THRESHOLD|gold high_bytes=7 low_bytes=1"}, ""},
		"the wrong row":        {&gpb.SetRequest{Update: []*gpb.Update{set(table+"/SLUICE_THRESHOLD_LIST[name=bad]/low_bytes", `1`)}}, nil, `SLUICE_THRESHOLD|bad: high_bytes "many"`},
		"the wrong row, cured": {&gpb.SetRequest{Update: []*gpb.Update{set(table+"/SLUICE_THRESHOLD_LIST[name=bad]/high_bytes", `2`)}}, []string{"SLUICE_THRESHOLD|bad high_bytes=2"}, ""},
		"the wrong row, gone":  {&gpb.SetRequest{Delete: []*gpb.Path{path(table + "/SLUICE_THRESHOLD_LIST[name=bad]")}}, []string{"SLUICE_THRESHOLD|bad gone"}, ""},
	} {
		got, err := outcome(t, before, tt.r)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, %v; want %v, %q", name, got, err, tt.want, tt.says)
		}
	}
}

// Apply leaves the configuration that it begins with as it is.
func TestApplyChangesNothing(t *testing.T) {
	c := NewConfig(config("SLUICE_THRESHOLD|gold high_bytes=7", "SLUICE_THRESHOLD|iron high_bytes=8"))
	same := NewConfig(config("SLUICE_THRESHOLD|gold high_bytes=7", "SLUICE_THRESHOLD|iron high_bytes=8"))
	all, err := Operations(&gpb.SetRequest{Delete: []*gpb.Path{path(gold)}, Update: []*gpb.Update{set(iron+"/high_bytes", `9`)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(all); err != nil {
		t.Fatal(err)
	}
	if changed := same.Changes(c); changed != nil {
		t.Errorf("changed: %v", texts(changed))
	}
}

// FuzzSet checks that every accepted request makes rows that can be written, and that
// a repeated one changes nothing.
func FuzzSet(f *testing.F) {
	f.Add("sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST", "name", "gold", `{"high_bytes":1}`, byte(0), false)
	f.Add("CONFIG_DB/localhost/SLUICE_PPFC_PEER/10.0.0.0", "", "", `{"NULL":"NULL"}`, byte(1), true)
	f.Add(".../SLUICE_THRESHOLD_LIST/low_bytes", "", "", `1`, byte(2), false)
	before := config("SLUICE_THRESHOLD|gold high_bytes=7 low_bytes=3", "SLUICE_PORT|Ethernet0 threshold=gold", "PORT|Ethernet0")
	f.Fuzz(func(t *testing.T, elems, key, value, json string, kind byte, sonic bool) {
		p := &gpb.Path{}
		if sonic {
			p.Origin = "sonic-db"
		}
		for i, name := range strings.Split(elems, "/") {
			e := &gpb.PathElem{Name: name}
			if i == 2 && key != "" {
				e.Key = map[string]string{key: value}
			}
			p.Elem = append(p.Elem, e)
		}
		r := &gpb.SetRequest{}
		u := []*gpb.Update{{Path: p, Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(json)}}}}
		switch kind % 4 {
		case 0:
			r.Update = u
		case 1:
			r.Replace = u
		case 2:
			r.Delete = []*gpb.Path{p}
		case 3:
			r.UnionReplace = u
		}
		operations, err := Operations(r, nil)
		if err != nil {
			return
		}
		now := NewConfig(before)
		next, err := now.Apply(operations)
		if err != nil || now.Check(next) != nil {
			return
		}
		for _, c := range now.Changes(next) {
			if paths.Lookup(c.Row.Table) == nil || !paths.Lookup(c.Row.Table).Config {
				t.Errorf("%v changes %s", &operations[0], c.Row.Name())
			}
		}
		again, err := next.Apply(operations)
		if err != nil || next.Changes(again) != nil {
			t.Errorf("%v: again: %v, %v", &operations[0], texts(next.Changes(again)), err)
		}
	})
}
