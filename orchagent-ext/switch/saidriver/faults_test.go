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

// faultBases are profiles by which each method of the flow label is the preferred one.
var faultBases = []struct {
	method engine.Method
	hide   string
}{
	{engine.Compute, ""},
	{engine.Rewrite, "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"},
	{engine.Hash, "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL"},
	{engine.UDFHash, "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL"},
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
	profile := []string{"HIDE", faultBases[base].hide}
	if fail != "" {
		profile = append(profile, "FAIL", fail)
	}
	if faultBases[base].method == engine.UDFHash {
		profile = append(profile, "HASH_FIELDS", "0 1 5 7 8 24")
	}
	lib, err := sai.Open(library.Path, library.Profile(profile...), h)
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
}

// tryFault lets a library fail in one way, and says what the engine makes of it.
func tryFault(library *saitest.Library, base int, call string, after, code int) (r faultResult) {
	fail := fmt.Sprintf("%s %d %d", call, after, code)
	r = faultResult{base: faultBases[base].method, fault: fail}
	complain := func(format string, args ...any) {
		if r.wrong == "" {
			r.wrong = fmt.Sprintf(format, args...)
		}
	}
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
	if err := d.SetPorts([]engine.Port{{Name: "Ethernet0", Lanes: []uint32{0, 1, 2, 3}}, {Name: "Ethernet4", Lanes: []uint32{4}}}); err != nil {
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
			complain("%d calls in one attempt", h.count)
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
			complain("%s is active, and nothing of it is on the switch", c.Method)
		}
		if c.State != engine.Active && c.Reason == "" {
			complain("%s is %s without a reason", c.Method, c.State)
		}
	}
	if err == nil {
		if changed, drift := e.CheckDrift(); changed || drift != nil {
			complain("there is something to do at once: %v", drift)
		}
	} else if r.result += "; tries again: " + err.Error(); !named(err.Error()) {
		complain("the error does not name the call")
	}
	said := strings.Join(append(o.Problems, label.Reason, export.Reason, o.Choices[engine.NeedPlacement].Reason), "; ")
	if label.Method != r.base && !named(said) && err == nil {
		complain("labels are by %s, and no reason names the call: %s", label.Method, said)
	}
	for range 6 * engine.Attempts {
		if _, err = e.Reconcile(engine.Policy{}); err == nil {
			break
		}
	}
	calls = append(calls, library.Calls()...)
	removes := strings.HasPrefix(call, "remove ") || strings.HasPrefix(call, "set ")
	switch left := ground(calls); {
	case err != nil && (!removes || !named(err.Error())):
		complain("the kill switch fails: %v", err)
	case err == nil && len(left) > 0:
		complain("the kill switch leaves %v", left)
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
		if err := d.SetPorts([]engine.Port{{Name: "Ethernet0", Lanes: []uint32{0, 1, 2, 3}}, {Name: "Ethernet4", Lanes: []uint32{4}}}); err != nil {
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
			codes := []int{saitest.Failure, saitest.NotSupported, saitest.InvalidParameter, saitest.BufferOverflow, saitest.TableFull, saitest.NotImplemented, -65536}
			if h.calls[name] {
				codes = []int{saitest.Failure, -65536, saitest.AttrNotSupported0}
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
	wrong := 0
	for _, r := range results {
		if r.wrong != "" {
			wrong++
			t.Errorf("%s, %s: %s\n\t%s", r.base, r.fault, r.wrong, r.result)
		}
	}
	t.Logf("%d faults of %d tried, %d wrong", len(results), n, wrong)
	if all {
		writeFaults(t, results)
	}
}

// TestFaultsThatWereWrong: a UDF group that is created again, of another type, is in use by
// the table of the method before, which a port is still bound to; a field of the default hash
// is an object of no type of the library.
func TestFaultsThatWereWrong(t *testing.T) {
	library := saitest.New(t)
	for _, r := range []faultResult{
		tryFault(library, 3, "capability acl_entry.ACTION_SET_IPV6_FLOW_LABEL", 0, -65536),
		tryFault(library, 2, "create hash", 0, saitest.InvalidParameter),
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
	_, _ = io.WriteString(w, "METHOD\tFAULT\tWRONG\tRESULT\n")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.base, r.fault, r.wrong, strings.ReplaceAll(r.result, "\n", "; "))
	}
	if err := errors.Join(w.Flush(), file.Close()); err != nil {
		t.Error(err)
	}
}
