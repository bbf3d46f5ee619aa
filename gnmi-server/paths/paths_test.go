// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"google.golang.org/protobuf/testing/protocmp"
)

func parse(t *testing.T, text string) *gpb.Path {
	t.Helper()
	origin, rest, ok := strings.Cut(text, ":/")
	if !ok {
		origin, rest = "", strings.TrimPrefix(text, "/")
	}
	p, err := ygot.StringToStructuredPath("/" + rest)
	if err != nil {
		t.Fatal(err)
	}
	p.Origin = origin
	return p
}

// flat is a query as text: level, and TABLE key leaves of each part.
func flat(q *Query) string {
	var parts []string
	for _, p := range q.Parts {
		parts = append(parts, strings.TrimSpace(p.Table.Name+" "+strings.Join(p.Keys, "|")+" "+strings.Join(p.Leaves, ",")))
	}
	return strings.Join(parts, "; ")
}

func TestResolveFindsNodes(t *testing.T) {
	for path, tt := range map[string]struct {
		target string
		level  int
		want   string
		wild   bool
	}{
		"/sonic-sluice/SLUICE_PORT":                                                        {"", AtTable, "SLUICE_PORT *", false},
		"/sonic-sluice:sonic-sluice/sonic-sluice:SLUICE_PORT":                              {"", AtTable, "SLUICE_PORT *", false},
		"openconfig:/sonic-sluice/SLUICE/global":                                           {"", AtRow, "SLUICE", false},
		"/sonic-sluice/SLUICE/global/router_id":                                            {"", AtLeaf, "SLUICE  router_id", false},
		"/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=a]/role":                          {"", AtLeaf, "SLUICE_PORT a role", false},
		"/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=*]/role":                          {"", AtLeaf, "SLUICE_PORT * role", true},
		"/sonic-sluice/SLUICE_PORT/*":                                                      {"", AtRow, "SLUICE_PORT *", true},
		"/*/SLUICE_FLOW/*/rate_mbps":                                                       {"", AtLeaf, "SLUICE_FLOW * rate_mbps", true},
		"sonic-db:/STATE_DB/localhost/SLUICE_FLOW/a/notified_neighbor":                     {"", AtLeaf, "SLUICE_FLOW a notified_neighbor", false},
		"sonic-db:/STATE_DB/localhost/SLUICE_FLOW/a/told":                                  {"", AtLeaf, "SLUICE_FLOW a told", false}, // its former name
		"/.../high_bytes":                                                                  {"", AtLeaf, "SLUICE_THRESHOLD * high_bytes", true},
		"/sonic-sluice-state/SLUICE_CONFIG_ERROR/*/reason":                                 {"", AtLeaf, "SLUICE_CONFIG_ERROR *|* reason", true},
		"/sonic-sluice-state/SLUICE_CONFIG_ERROR/SLUICE_CONFIG_ERROR_LIST[table=t][key=k]": {"", AtRow, "SLUICE_CONFIG_ERROR t|k", false},
		"sonic-db:/CONFIG_DB/localhost/SLUICE_PORT":                                        {"", AtTable, "SLUICE_PORT *", false},
		"sonic-db:/CONFIG_DB/localhost/SLUICE_PORT/Ethernet0/role":                         {"", AtLeaf, "SLUICE_PORT Ethernet0 role", false},
		"sonic-db:/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold/queues@":                      {"", AtLeaf, "SLUICE_THRESHOLD gold queues", false},
		"sonic-db:/STATE_DB/localhost/SLUICE_CONFIG_ERROR/t|k|l/reason":                    {"", AtLeaf, "SLUICE_CONFIG_ERROR t|k|l reason", false},
		"sonic-db:/CONFIG_DB/localhost/SLUICE_FLOW_LABEL/global/algorithm":                 {"", AtLeaf, "SLUICE_FLOW_LABEL  algorithm", false},
		"/SLUICE_PORT/Ethernet0":                                                           {"CONFIG_DB", AtRow, "SLUICE_PORT Ethernet0", false},
		"/sonic-sluice/.../SLUICE_PORT_LIST[name=a]":                                       {"", AtLeaf, "SLUICE_PORT a", true},
		"/.../.../high_bytes":                                                              {"", AtLeaf, "SLUICE_THRESHOLD * high_bytes", true},
		"/sonic-sluice/SLUICE_PPFC_PEER/.../prefix":                                        {"", AtLeaf, "SLUICE_PPFC_PEER * prefix", true},
		"/sonic-sluice/SLUICE_PPFC_PEER/...":                                               {"", AtLeaf, "SLUICE_PPFC_PEER *", true},
		"/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=a...b]":                           {"", AtRow, "SLUICE_PORT a...b", false},
		"sonic-db:/CONFIG_DB/localhost/SLUICE_PORT/sonic-sluice:a":                         {"", AtRow, "SLUICE_PORT sonic-sluice:a", false},
		"/localhost/SLUICE_STATS/global/cpu_roce":                                          {"COUNTERS_DB", AtLeaf, "SLUICE_STATS  cpu_roce", false},
		"/sonic-sluice/SLUICE/global/driver":                                               {"CONFIG_DB", AtLeaf, "SLUICE  driver", false},
	} {
		q, err := Resolve(&gpb.Path{Target: tt.target}, parse(t, path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := flat(q); got != tt.want || q.Level != tt.level || q.Wild() != tt.wild {
			t.Errorf("%s: level %d, wild %v, %q; want level %d, wild %v, %q", path, q.Level, q.Wild(), got, tt.level, tt.wild, tt.want)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	for path, tt := range map[string]struct {
		unknown bool
		says    string
	}{
		"/interfaces":                                        {true, `no "interfaces" here; there are: sonic-sluice, sonic-sluice-state`},
		"/sonic-sluice/SLUICE/global/color":                  {true, `no "color" here; there are: admin_state, `},
		"/sonic-sluice/SLUICE/global/driver/x":               {true, "nothing is below driver"},
		"/sonic-sluice/SLUICE/local":                         {true, `no "local" here; there are: global`},
		"cli:/show":                                          {true, `no origin "cli" here`},
		"/sonic-sluice[a=b]":                                 {false, "sonic-sluice is not a list and has no key"},
		"/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[x=y]":    {false, `SLUICE_PORT_LIST has no key "x"; it has: name`},
		"sonic-db:/CONFIG_DB/asic7/SLUICE_PORT":              {false, "the namespace must be localhost"},
		"sonic-db:/CONFIG_DB/localhost/PORT":                 {true, `no "PORT" here`},
		"sonic-db:/STATE_DB/localhost/SLUICE_PORT":           {true, `no "SLUICE_PORT" here`},
		"sonic-db:/STATE_DB/localhost/SLUICE_CONFIG_ERROR/x": {false, "must be table|key"},
		"sonic-db:/CONFIG_DB/localhost/.../gold":             {false, "... is not for origin sonic-db"},
		"/sonic-sluice/.../*[name=gold]":                     {false, "is not a list and has no key"},
	} {
		_, err := Resolve(nil, parse(t, path))
		var e *Error
		if !errors.As(err, &e) || e.Unknown != tt.unknown || !strings.Contains(e.Reason, tt.says) {
			t.Errorf("%s: got %v, want %q, unknown %v", path, err, tt.says, tt.unknown)
		}
	}
}

// Paths of any length and depth cost little, and errors repeat only their
// beginning.
func TestLongPaths(t *testing.T) {
	of := func(n int, names ...string) *gpb.Path {
		p := &gpb.Path{}
		for i := range n {
			p.Elem = append(p.Elem, &gpb.PathElem{Name: names[i%len(names)]})
		}
		return p
	}
	deadline := time.Now().Add(30 * time.Second) // all of it takes some 100 ms
	for name, p := range map[string]*gpb.Path{
		"...": of(100000, "..."), "*": of(100000, "*"), "... and *": of(100000, "...", "*"), "names": of(100000, "sonic-sluice", "x"),
		"a long name": of(1, strings.Repeat("é", 1<<20)),
	} {
		q, err := Resolve(nil, p)
		if name == "..." {
			if err != nil || len(q.Parts) != len(Tables()) {
				t.Errorf("%s: %v, %v", name, q, err)
			}
			continue
		}
		if err == nil || len(err.Error()) > 4096 || !utf8.ValidString(err.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if time.Now().After(deadline) {
		t.Error("long paths take for ever")
	}
}

// Rows that no path could name are not there for gNMI.
func TestRowsWithoutAPathAreHidden(t *testing.T) {
	one, two, only := Lookup("SLUICE_THRESHOLD"), Lookup("SLUICE_CONFIG_ERROR"), Lookup("SLUICE")
	for _, tt := range []struct {
		table *Table
		key   string
		want  [2]bool // YANG, SonicDB
	}{
		{one, "gold", [2]bool{true, true}},
		{one, `a b]\[=/|é`, [2]bool{true, true}},
		{one, "...", [2]bool{true, false}},
		{one, "*", [2]bool{false, false}},
		{one, "a*", [2]bool{true, true}},
		{one, "", [2]bool{false, false}},
		{one, "\xff", [2]bool{false, false}},
		{two, "t|k", [2]bool{true, true}},
		{two, "t|*", [2]bool{false, false}},
		{two, "t|", [2]bool{false, false}},
		{two, "t", [2]bool{false, false}},
		{only, "global", [2]bool{true, true}},
		{only, "local", [2]bool{false, false}},
	} {
		if got := [2]bool{tt.table.Nameable(YANG, tt.key), tt.table.Nameable(SonicDB, tt.key)}; got != tt.want {
			t.Errorf("%s|%s: %v, want %v", tt.table.Name, tt.key, got, tt.want)
		}
	}
}

// The path of each leaf resolves to that leaf, in both styles.
func TestPathsOfAllLeaves(t *testing.T) {
	n := 0
	for _, table := range Tables() {
		keys := make([]string, len(table.Keys))
		for i := range keys {
			keys[i] = "k" + string(rune('0'+i))
		}
		key := strings.Join(keys, KeySeparator)
		if len(keys) == 0 {
			key = table.Row
		}
		for _, leaf := range table.Leaves {
			for style, origin := range []string{YANG: "", SonicDB: "sonic-db"} {
				p := Path(Style(style), AtLeaf, table, key, leaf)
				q, err := Resolve(&gpb.Path{Origin: origin}, p)
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := q.Parts[0].Key(); len(q.Parts) != 1 || got != key || !q.Has(table, key, leaf) || q.Wild() {
					t.Errorf("%s becomes %s", Text(p), flat(q))
				}
				if diff := cmp.Diff(q.Indexes(), [][]string{Index(Style(style), table, key, leaf)}); diff != "" {
					t.Errorf("%s: %s", Text(p), diff)
				}
				n++
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d leaves", n)
	}
}

func TestMeetsAndCovers(t *testing.T) {
	for _, tt := range []struct {
		a, b          string
		meets, covers bool
	}{
		{"/", "/sonic-sluice/SLUICE_PORT", true, true},
		{"/sonic-sluice/SLUICE_PORT", "/", true, false},
		{"/sonic-sluice", "/sonic-sluice-state", false, false},
		{"/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=a]", "/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=b]", false, false},
		{"/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=a]", "/sonic-sluice/SLUICE_PORT/*/role", true, false},
		{"/sonic-sluice/SLUICE_PORT/*/role", "/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=a]/role", true, true},
		{"/sonic-sluice/SLUICE_PORT", "sonic-db:/CONFIG_DB/localhost/SLUICE_PORT/a", true, true},
	} {
		a, errA := Resolve(nil, parse(t, tt.a))
		b, errB := Resolve(nil, parse(t, tt.b))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if a.Meets(b) != tt.meets || b.Meets(a) != tt.meets || a.Covers(b) != tt.covers {
			t.Errorf("%s and %s: meets %v, covers %v; want %v, %v", tt.a, tt.b, a.Meets(b), a.Covers(b), tt.meets, tt.covers)
		}
	}
}

func TestModelsAreTheFiles(t *testing.T) {
	for _, m := range Models {
		text, err := os.ReadFile("../../yang/" + m.Name + ".yang")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\n  revision ")
		revision, _, _ := strings.Cut(rest, " ")
		_, rest, _ = strings.Cut(string(text), "organization\n    \"")
		organization, _, _ := strings.Cut(rest, `"`)
		want := &gpb.ModelData{Name: m.Name, Organization: organization, Version: revision}
		if diff := cmp.Diff(want, m, protocmp.Transform()); diff != "" {
			t.Errorf("(-module +server):\n%s", diff)
		}
	}
	if !Lookup("SLUICE_CONFIG_ERROR").Atomic || Lookup("SLUICE_FLOW").Atomic || Lookup("SLUICE_FLOW").Config || !Lookup("SLUICE_PORT").Config {
		t.Error("the schema says otherwise of atomic rows and configuration")
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST/role", "name", "a", "", "")
	f.Add("CONFIG_DB/localhost/SLUICE_PORT/a/role", "", "", "sonic-db", "CONFIG_DB")
	f.Add(".../*/...", "*", "*", "", "STATE_DB")
	f.Fuzz(func(t *testing.T, elems, key, value, origin, target string) {
		p := &gpb.Path{Origin: origin}
		for i, name := range strings.Split(elems, "/") {
			e := &gpb.PathElem{Name: name}
			if i == 2 && key != "" {
				e.Key = map[string]string{key: value}
			}
			p.Elem = append(p.Elem, e)
		}
		q, err := Resolve(&gpb.Path{Target: target}, p)
		if (q == nil) == (err == nil) {
			t.Fatalf("query %v, error %v", q, err)
		}
		if q == nil {
			return
		}
		if len(q.Parts) == 0 || !q.Covers(q) {
			t.Errorf("%s: %s", q, flat(q))
		}
		q.Wild()
		q.Indexes()
	})
}
