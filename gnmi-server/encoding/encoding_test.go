// SPDX-License-Identifier: Apache-2.0

package encoding

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"sluice/gnmi-server/paths"
)

func query(t testing.TB, origin, text string) *paths.Query {
	t.Helper()
	p, err := ygot.StringToStructuredPath(text)
	if err != nil {
		t.Fatal(err)
	}
	p.Origin = origin
	q, err := paths.Resolve(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// samples are texts of every type that the models have.
var samples = []Leaf{
	{paths.Lookup("SLUICE_THRESHOLD"), "gold", "high_bytes", "18446744073709551615"},
	{paths.Lookup("SLUICE_THRESHOLD"), "gold", "reduction", "63"},
	{paths.Lookup("SLUICE_THRESHOLD"), "gold", "action", "reduce"},
	{paths.Lookup("SLUICE_THRESHOLD"), "gold", "queues", "3,4"},
	{paths.Lookup("SLUICE_THRESHOLD"), "gold", "queues", "3"},
	{paths.Lookup("SLUICE"), "global", "etcd_endpoints", "http://[::1]:2379,http://b:1"},
	{paths.Lookup("SLUICE"), "global", "router_id", "10.0.0.1"},
	{paths.Lookup("SLUICE_PORT"), "Ethernet0", "threshold", `go"l<d>`},
	{paths.Lookup("SLUICE_FLOW_LABEL"), "global", "manage_switch_hash", "true"},
	{paths.Lookup("SLUICE_STATS"), "global", "label_skipped_percent", "33.3"},
	{paths.Lookup("SLUICE_STATS"), "global", "label_skipped_percent", "50.0"},
	{paths.Lookup("SLUICE_STATS"), "global", "label_written", "9007199254740993"},
}

// What a leaf becomes in each encoding and style is decoded to the same text.
func TestRoundTrip(t *testing.T) {
	for _, leaf := range samples {
		if !leaf.Valid() {
			t.Errorf("%v is not valid", leaf)
		}
		for _, style := range []paths.Style{paths.YANG, paths.SonicDB} {
			for _, e := range Supported {
				p := paths.Path(style, paths.AtLeaf, leaf.Table, leaf.Key, leaf.Name)
				if style == paths.SonicDB {
					p.Origin = "sonic-db"
				}
				q, err := paths.Resolve(nil, p)
				if err != nil {
					t.Fatal(err)
				}
				v := leaf.Value(style, e)
				got, err := Decode(q, v)
				if err != nil || len(got) != 1 || got[0].Leaf != leaf {
					t.Errorf("%s in %v: %v becomes %v, %v", q, e, v, got, err)
				}
			}
			for _, e := range []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF} {
				for level := range paths.AtLeaf {
					p := paths.Path(style, level, leaf.Table, leaf.Key, leaf.Name)
					if style == paths.SonicDB {
						p.Origin = "sonic-db"
					}
					q, err := paths.Resolve(nil, p)
					if err != nil {
						t.Fatal(err)
					}
					whole := []Leaf{leaf}
					if style == paths.YANG && len(leaf.Table.Keys) > 0 {
						whole = append(whole, Leaf{leaf.Table, leaf.Key, leaf.Table.Keys[0], leaf.Key})
					}
					v := Subtree(style, e, level, whole)
					got, err := Decode(q, v)
					found := false
					for _, a := range got {
						found = found || a.Leaf == leaf
					}
					if err != nil || !found {
						t.Errorf("%s in %v: %v becomes %v, %v", q, e, v, got, err)
					}
				}
			}
		}
	}
}

func TestInvalidValuesAreFound(t *testing.T) {
	for _, l := range []Leaf{
		{paths.Lookup("SLUICE_THRESHOLD"), "gold", "high_bytes", "many"},
		{paths.Lookup("SLUICE_THRESHOLD"), "gold", "queues", "3,x"},
		{paths.Lookup("SLUICE_THRESHOLD"), "gold", "action", "stop"},
		{paths.Lookup("SLUICE_FLOW_LABEL"), "global", "manage_switch_hash", "yes"},
		{paths.Lookup("SLUICE_STATS"), "global", "label_skipped_percent", "half"},
	} {
		if l.Valid() {
			t.Errorf("%v is valid", l)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	const row = "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]"
	text := func(s string) *gpb.TypedValue {
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(s)}}
	}
	for name, tt := range map[string]struct {
		path  string
		value *gpb.TypedValue
		want  string
	}{
		"number for 64 bits":  {row + "/high_bytes", text(`5`), `must be a number in quotes (RFC 7951 section 6.1), and is 5`},
		"string for 8 bits":   {row + "/reduction", text(`"5"`), `must be a number, without quotes, and is "5"`},
		"string for boolean":  {"/sonic-sluice/SLUICE_FLOW_LABEL/global/manage_switch_hash", text(`"true"`), `must be true or false, without quotes, and is "true"`},
		"no array":            {row + "/queues", text(`5`), `must be an array`},
		"a comma in a list":   {"/sonic-sluice/SLUICE/global/etcd_endpoints", text(`["a,b"]`), `"a,b" cannot be in a list: the database separates values by commas`},
		"list in a list":      {row + "/queues", text(`[[5]]`), `must be a number, without quotes, and is [5]`},
		"unknown leaf":        {"/sonic-sluice/SLUICE_FLOW_LABEL/global", text(`{"color":1}`), `color: no such leaf; there are: admin_state, algorithm, hash_ports, manage_switch_hash, rewrite, tunnels`},
		"another module":      {"/sonic-sluice/SLUICE_FLOW_LABEL/global", text(`{"sonic-port:rewrite":"always"}`), `sonic-port:rewrite: no such leaf; there are: admin_state, algorithm, hash_ports, manage_switch_hash, rewrite, tunnels`},
		"entry without a key": {"/sonic-sluice/SLUICE_THRESHOLD", text(`{"SLUICE_THRESHOLD_LIST":[{"high_bytes":"1"}]}`), `SLUICE_THRESHOLD_LIST: entry 0: key name is missing`},
		"uint for a string":   {row + "/action", &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 1}}, `the value must be string_val`},
		"string for uint":     {row + "/high_bytes", &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: "1"}}, `the value must be uint_val`},
		"scalar for a row":    {row, &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 1}}, `the value of ` + row + `, which is not a leaf, must be JSON or JSON_IETF`},
		"scalar for a list":   {row + "/queues", &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 1}}, `a leaf-list has leaflist_val, and no other leaf has`},
	} {
		if got, err := Decode(query(t, "", tt.path), tt.value); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, %v\nwant %s", name, got, err, tt.want)
		}
	}
	_, err := Decode(query(t, "", row), &gpb.TypedValue{Value: &gpb.TypedValue_BytesVal{BytesVal: []byte("x")}})
	if !errors.Is(err, ErrEncoding) {
		t.Errorf("bytes: %v", err)
	}
}

// FuzzDecode checks that every accepted value names existing leaves.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"sonic-sluice:sonic-sluice":{"SLUICE_THRESHOLD":{"SLUICE_THRESHOLD_LIST":[{"name":"a","queues":[1]}]}}}`), byte(0), true)
	f.Add([]byte(`{"CONFIG_DB":{"localhost":{"SLUICE_PORT":{"a":{"role":"edge","NULL":"NULL"}}}}}`), byte(1), false)
	f.Add([]byte(`[{"name":"a"}]`), byte(2), false)
	queries := []*paths.Query{
		query(f, "", "/"), query(f, "sonic-db", "/"),
		query(f, "", "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST"), query(f, "", "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=a]"),
		query(f, "sonic-db", "/CONFIG_DB/localhost/SLUICE_PORT/a/role"), query(f, "", "/sonic-sluice/SLUICE/global/etcd_endpoints"),
	}
	f.Fuzz(func(t *testing.T, text []byte, at byte, ietf bool) {
		v := &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: text}}
		if ietf {
			v = &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}}
		}
		q := queries[int(at)%len(queries)]
		all, err := Decode(q, v)
		if err != nil {
			return
		}
		for _, a := range all {
			if a.Name != "" && !q.Has(a.Table, a.Key, a.Name) {
				t.Errorf("%s says something of %s|%s %s", q, a.Table.Name, a.Key, a.Name)
			}
			if _, ok := a.Table.Split(a.Key); !ok {
				t.Errorf("%s|%s cannot be", a.Table.Name, a.Key)
			}
		}
	})
}

func TestSubtreeOfSonicDB(t *testing.T) {
	got := string(Subtree(paths.SonicDB, gpb.Encoding_JSON, paths.Root, []Leaf{samples[0], samples[3], samples[8]}).GetJsonVal())
	want := `{"CONFIG_DB":{"localhost":{"SLUICE_FLOW_LABEL":{"global":{"manage_switch_hash":"true"}},"SLUICE_THRESHOLD":{"gold":{"high_bytes":"18446744073709551615","queues":["3","4"]}}}}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
