// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saitest"
)

// faultBases are the libraries of the matrix: profiles by which each method of the flow label
// is the preferred one, and libraries that were tried.
var faultBases = []struct {
	method      engine.Method
	hide        string
	personality string
}{
	{method: engine.Compute},
	{method: engine.Rewrite, hide: "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"},
	{method: engine.Hash, hide: "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL"},
	{method: engine.UDFHash, hide: "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL"},
	{method: engine.UDFHash, personality: "libsaivs-202411"},
	{method: engine.UDFHash, personality: "libsaivs-202605"},
	{method: engine.UDFHash, personality: "sairedis-client-202411"},
	{method: engine.UDFHash, personality: "lemming"},
}

// faultPolicy asks for all that the engine does.
func faultPolicy() engine.Policy {
	p := policy("Ethernet0", "Ethernet4")
	p.CPU = engine.CPU{Rate: 100, Burst: 10}
	p.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0"}, CM: true}
	p.Placement = &engine.Placement{Sampling: 100}
	return p
}

// heardCalls notes the calls of a library as saitest's FAIL names them.
type heardCalls struct {
	calls map[string]bool // and whether it is one attribute of a call
	count int

	unknown bool // a call was about no type of objects
}

func (h *heardCalls) Calling(c *sai.Call) int {
	h.count++
	object, values := strings.CutSuffix(c.Object, " values")
	name := map[string]string{"ask": "capability", "get stats of": "stats"}[c.Name]
	if name == "" {
		name = c.Name
	}
	if values {
		name = "values"
	}
	if object == "" {
		h.unknown = true
		return 0
	}
	if name != "capability" && name != "values" {
		h.calls[name+" "+strings.Fields(object)[0]] = false
	}
	for i := range c.Arguments {
		if _, short, ok := strings.Cut(c.Arguments[i].Name, "_ATTR_"); ok {
			h.calls[name+" "+object+"."+short] = true
		}
	}
	return 0
}

func (h *heardCalls) Called(int, *sai.Call, sai.Status) {}

// openFaulty opens the library and its switch.
func openFaulty(library *saitest.Library, h *heardCalls, base int, fail string) (*sai.Library, error) {
	profile := library.Profile("HIDE", faultBases[base].hide)
	switch name := faultBases[base].personality; {
	case name != "":
		profile = library.Personality(name)
	case faultBases[base].method == engine.UDFHash:
		profile["HASH_FIELDS"] = "0 1 5 7 8 24"
	}
	if fail != "" { // the first rule of a call counts
		profile["FAIL"] = strings.TrimSuffix(fail+";"+profile["FAIL"], ";")
	}
	lib, err := sai.Open(library.Path, profile, h)
	if err != nil {
		return nil, err
	}
	if err := lib.CreateSwitch(true); err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	return lib, nil
}

// ground is what the record of a library says is on the switch: objects, and references of
// ports and of the switch to them.
func ground(calls []string) map[string]string {
	is := map[string]string{}
	for _, call := range calls {
		words := strings.Fields(call)
		switch {
		case words[0] == "create" && !strings.HasPrefix(words[1], "switch#"):
			is[words[1]] = call
		case words[0] == "remove":
			delete(is, words[1])
		case words[0] == "set" && len(words) > 2:
			name, value, _ := strings.Cut(words[2], "=")
			if delete(is, words[1]+" "+name); strings.Contains(value, "#") {
				is[words[1]+" "+name] = value
			}
		}
	}
	return is
}

// inForce reports whether a method of a need can do anything, by the ground.
func inForce(is map[string]string, m engine.Method) bool {
	table, hash := "", ""
	for what, value := range is {
		switch {
		case strings.HasPrefix(what, "port#") && strings.HasSuffix(what, " INGRESS_ACL"):
			table += value + " "
		case strings.HasPrefix(what, "switch#") && strings.Contains(what, " ECMP_HASH_IPV6"):
			hash = value
		}
	}
	for what, call := range is { // a port may be bound to a group of tables
		if !strings.HasPrefix(what, "acl_table_group_member#") {
			continue
		}
		_, group, _ := strings.Cut(call, "ACL_TABLE_GROUP_ID=")
		_, of, _ := strings.Cut(call, "ACL_TABLE_ID=")
		group, _, _ = strings.Cut(group, " ")
		of, _, _ = strings.Cut(of, " ")
		if strings.Contains(table, group+" ") {
			table += of + " "
		}
	}
	entry := func(attr string) bool {
		for what, call := range is {
			if strings.HasPrefix(what, "acl_entry#") && strings.Contains(call, " "+attr+"=") {
				_, of, _ := strings.Cut(call, "TABLE_ID=")
				of, _, _ = strings.Cut(of, " ")
				if strings.Contains(table, of+" ") {
					return true
				}
			}
		}
		return false
	}
	switch m {
	case engine.Compute:
		return entry("ACTION_COMPUTE_IPV6_FLOW_LABEL") || entry(fmt.Sprintf("%#x", 0x10000001))
	case engine.Rewrite:
		return entry("ACTION_SET_USER_TRAP_ID")
	case engine.Sample:
		return entry("ACTION_INGRESS_SAMPLEPACKET_ENABLE")
	case engine.Hash, engine.UDFHash:
		return is[hash] != ""
	}
	return true
}

// faultResult is a line of the table.
type faultResult struct {
	base   engine.Method
	fault  string
	result string
	wrong  string // what is not as it must be; "": nothing
	kind   wrong  // of wrong
	calls  int    // of the kill switch
}

// wrong is a kind of what the matrix finds.
type wrong int

const (
	otherwise   wrong = iota // a reason that is missing, or does not name the call
	falseActive              // a method is active, and nothing of it is on the switch
	loops                    // calls without end
	left                     // the kill switch leaves objects
	numWrong
)

// tryFault lets a library fail in one way, and says what the engine makes of it.
func tryFault(library *saitest.Library, base int, call string, after int, code string) (r faultResult) {
	fail := fmt.Sprintf("%s %d %s", call, after, code)
	r = faultResult{base: faultBases[base].method, fault: fail}
	if name := faultBases[base].personality; name != "" {
		r.fault = name + ": " + fail
	}
	complainOf := func(kind wrong, format string, args ...any) {
		if r.wrong == "" {
			r.wrong, r.kind = fmt.Sprintf(format, args...), kind
		}
	}
	complain := func(format string, args ...any) { complainOf(otherwise, format, args...) }
	object, _, _ := strings.Cut(strings.Fields(call)[1], ".")
	named := func(text string) bool {
		return strings.Contains(text, object) || strings.Contains(text, "sai_api_query")
	}
	library.Calls()
	h := &heardCalls{calls: map[string]bool{}}
	lib, err := openFaulty(library, h, base, fail)
	if err != nil {
		r.result = "not opened: " + err.Error()
		if !named(strings.ReplaceAll(r.result, "sai_api_initialize", "api")) {
			complain("the reason does not name the call")
		}
		return r
	}
	defer func() { _ = lib.Close() }()
	var calls []string
	d := New(lib, Options{})
	if err := d.Ports.Set([]engine.Port{{Name: "Ethernet0", Lanes: []uint32{0, 1, 2, 3}}, {Name: "Ethernet4", Lanes: []uint32{4}}}); err != nil {
		r.result = "no ports: " + err.Error()
		if !named(r.result) {
			complain("the reason does not name the call")
		}
		return r
	}
	ledger := &fakeLedger{}
	e, err := engine.NewEngine(d, ledger, nil)
	if err != nil {
		r.result = "no engine: " + err.Error()
		if !named(r.result) {
			complain("the reason does not name the call")
		}
		return r
	}
	var o engine.Outcome
	rounds := 0
	for ; rounds < 6*engine.Attempts; rounds++ {
		h.count = 0
		if o, err = e.Reconcile(faultPolicy()); h.count > 2000 {
			complainOf(loops, "%d calls in one attempt", h.count)
		}
		if err == nil {
			break
		}
	}
	calls = append(calls, library.Calls()...)
	is := ground(calls)
	if h.unknown {
		complain("a call is about no type of objects")
	}
	label, export := o.Choices[engine.NeedFlowLabel], o.Choices[engine.NeedExport]
	r.result = fmt.Sprintf("labels by %s, %s; export by %s, %s; %d attempts", label.Method, label.State, export.Method, export.State, rounds+1)
	for _, c := range []engine.Choice{label, export} {
		if c.State == engine.Active && !inForce(is, c.Method) {
			complainOf(falseActive, "%s is active, and nothing of it is on the switch", c.Method)
		}
		if c.State != engine.Active && c.Reason == "" {
			complain("%s is %s without a reason", c.Method, c.State)
		}
	}
	if err == nil {
		if changed, drift := e.CheckDrift(); changed || drift != nil {
			complainOf(loops, "there is something to do at once: %v", drift)
		}
	} else if r.result += "; tries again: " + err.Error(); !named(err.Error()) {
		complain("the error does not name the call")
	}
	said := strings.Join(append(o.Problems, label.Reason, export.Reason, o.Choices[engine.NeedPlacement].Reason), "; ")
	if label.Method != r.base && !named(said) && err == nil {
		complain("labels are by %s, and no reason names the call: %s", label.Method, said)
	}
	h.count = 0
	for range 6 * engine.Attempts {
		if _, err = e.Reconcile(engine.Policy{}); err == nil {
			break
		}
	}
	r.calls = h.count
	calls = append(calls, library.Calls()...)
	removes := strings.HasPrefix(call, "remove ") || strings.HasPrefix(call, "set ")
	switch there := ground(calls); {
	case err != nil && (!removes || !named(err.Error())):
		complain("the kill switch fails: %v", err)
	case err == nil && len(there) > 0:
		complainOf(left, "the kill switch leaves %v", there)
	case err != nil:
		r.result += "; cannot be removed: " + err.Error()
	}
	return r
}

// TestFaultsOfALibrary lets each call that is made, by each method, answer each code, from
// the first time and from a later one on, for good: no method is active over nothing, there
// is a reason that names the call, nothing is tried without a pause, and the kill switch
// leaves nothing. `make soak` tries all, `make test` some.
func TestFaultsOfALibrary(t *testing.T) {
	library := saitest.New(t)
	all := os.Getenv("SLUICE_SOAK") != ""
	stride := 1
	if !all {
		stride = 47 // of which no other number here is a multiple
	}
	var results []faultResult
	n := 0
	for base := range faultBases {
		h := &heardCalls{calls: map[string]bool{}}
		lib, err := openFaulty(library, h, base, "")
		if err != nil {
			t.Fatal(err)
		}
		d := New(lib, Options{})
		if err := d.Ports.Set([]engine.Port{{Name: "Ethernet0", Lanes: []uint32{0, 1, 2, 3}}, {Name: "Ethernet4", Lanes: []uint32{4}}}); err != nil {
			t.Fatal(err)
		}
		e := newTestEngine(t, d, &fakeLedger{})
		if o := settle(t, e, faultPolicy()); o.Choices[engine.NeedFlowLabel].Method != faultBases[base].method {
			t.Fatalf("without a fault labels are by %+v, want %s", o.Choices[engine.NeedFlowLabel], faultBases[base].method)
		}
		settle(t, e, engine.Policy{})
		if err := lib.Close(); err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range h.calls {
			names = append(names, name)
		}
		for _, api := range []string{"switch", "port", "acl", "hash", "udf", "samplepacket", "policer", "hostif"} {
			names = append(names, "query "+api)
		}
		slices.Sort(names)
		for _, name := range names {
			codes := []string{"-1", "-2", "-5", "-8", "-13", "-15", "-65536"} // FAILURE to NOT_IMPLEMENTED, and an attribute's
			if h.calls[name] {
				codes = []string{"-1", "-65536", "-327680"}
			}
			switch verb, _, _ := strings.Cut(name, " "); verb {
			case "create":
				codes = append(codes, "null")
			case "list", "values", "get":
				codes = append(codes, "more", "endless")
			}
			for _, code := range codes {
				for _, after := range []int{0, 2} {
					if n++; n%stride == 0 {
						results = append(results, tryFault(library, base, name, after, code))
					}
				}
			}
		}
	}
	var wrong [numWrong]int
	slowest := faultResult{}
	for _, r := range results {
		if r.calls > slowest.calls {
			slowest = r
		}
		if r.wrong != "" {
			wrong[r.kind]++
			t.Errorf("%s, %s: %s\n\t%s", r.base, r.fault, r.wrong, r.result)
		}
	}
	t.Logf("%d faults of %d tried, with %d libraries: %d false active, %d loops, %d left, %d otherwise wrong; the kill switch takes at most %d calls (%s, %s)",
		len(results), n, len(faultBases), wrong[falseActive], wrong[loops], wrong[left], wrong[otherwise], slowest.calls, slowest.base, slowest.fault)
	if all {
		writeFaults(t, results)
	}
}

// TestFaultsThatWereWrong: a UDF group that is created again, of another type, is in use by
// the table of the method before, which a port is still bound to; a field of the default hash
// is an object of no type of the library; a hash that was created to try a field, and is not
// removed, keeps a UDF group in use.
func TestFaultsThatWereWrong(t *testing.T) {
	library := saitest.New(t)
	for _, r := range []faultResult{
		tryFault(library, 3, "capability acl_entry.ACTION_SET_IPV6_FLOW_LABEL", 0, "-65536"),
		tryFault(library, 2, "create hash", 0, "-5"),
		tryFault(library, 7, "remove hash", 0, "-1"),
		tryFault(library, 7, "remove hash", 2, "-65536"),
	} {
		if r.wrong != "" {
			t.Errorf("%s, %s: %s\n\t%s", r.base, r.fault, r.wrong, r.result)
		}
	}
}

// writeFaults writes the table to build/.
func writeFaults(t *testing.T, results []faultResult) {
	t.Helper()
	const folder = "../../../build"
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(folder, "sai-faults.txt"))
	if err != nil {
		t.Fatal(err)
	}
	w := tabwriter.NewWriter(file, 0, 0, 2, ' ', 0)
	_, _ = io.WriteString(w, "METHOD\tFAULT\tCALLS TO REMOVE\tWRONG\tRESULT\n")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", r.base, r.fault, r.calls, r.wrong, strings.ReplaceAll(r.result, "\n", "; "))
	}
	if err := errors.Join(w.Flush(), file.Close()); err != nil {
		t.Error(err)
	}
}
