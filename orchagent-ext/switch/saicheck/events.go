// SPDX-License-Identifier: Apache-2.0

package saicheck

// Order is the request to sluiced, on its standard input: one JSON value.
type Order struct {
	Port string `json:"port"` // name; "": the library's first
	// of the port; none: CONFIG_DB has them, or the port is a network device
	Lanes []uint32 `json:"lanes,omitempty"`
	Done  []Method `json:"done,omitempty"` // that are not to be tried (again)
	Left  []Row    `json:"left,omitempty"` // objects of an earlier process, to be removed first

	// the library is not to be asked for it (again)
	NoExtension bool `json:"no_extension,omitempty"`
	// names of calls that are never made, such as ask
	Avoid []string `json:"avoid,omitempty"`
}

// Method is a method of a need.
type Method struct {
	Need   string `json:"need"`
	Method string `json:"method"`
}

// Row is an object as the ledger has it.
type Row struct {
	ID     string            `json:"id"`
	Fields map[string]string `json:"fields,omitempty"` // none: it is gone
}

// Event is a line of sluiced's standard output. One of its members is there.
type Event struct {
	Opened  *Opened `json:"opened,omitempty"`
	Begins  *Method `json:"begins,omitempty"`  // the calls from here on are for a method
	Calling *Call   `json:"calling,omitempty"` // a call begins
	Called  *Call   `json:"called,omitempty"`  // the same has ended
	Saved   []Row   `json:"saved,omitempty"`   // the ledger has changed
	Ends    *Result `json:"ends,omitempty"`    // result of the method
	Error   string  `json:"error,omitempty"`   // why the check ends
}

// Opened reports that the library has created or found the switch.
type Opened struct {
	Version string   `json:"sai_version"` // such as 1.18; "": it does not say
	Port    string   `json:"port"`
	Methods []Method `json:"methods"` // in order of preference
}

// Call is a call of the library.
type Call struct {
	Call       string      `json:"call"`
	Object     string      `json:"object"`
	ID         string      `json:"id,omitempty"`
	Attributes []Attribute `json:"attributes,omitempty"`
	Status     int32       `json:"status"`
	// SAI's name of the status; "": the call did not return
	Code string `json:"code,omitempty"`
}

// Attribute is an attribute that a call passed, or read.
type Attribute struct {
	Name  string `json:"name"`
	ID    uint32 `json:"id"`
	Value string `json:"value,omitempty"`
}

// Result is the result of a method.
type Result struct {
	Works    bool     `json:"works"`
	Reason   string   `json:"reason"`
	Problems []string `json:"problems,omitempty"` // objects that Sluice does without
	Calls    []Call   `json:"calls"`

	// Of entries that redirect flows: how long one takes to create, the mean of eight, in ms; and
	// how many more the table has room for, nil where the library does not report it.
	EntryMS float64 `json:"entry_ms,omitempty"`
	Room    *uint64 `json:"entries_free,omitempty"`

	Trials []Trial `json:"trials,omitempty"` // of entries that redirect flows
}

// Trial is a further ability of a switch whose entries redirect flows. That a library takes the
// objects does not prove where packets go.
type Trial struct {
	Name   string `json:"name"`
	Taken  bool   `json:"taken"`
	Reason string `json:"reason,omitempty"` // for which it is refused
}

// Report is the result of a check.
type Report struct {
	Library string                        `json:"library"`
	Version string                        `json:"sai_version"`
	Port    string                        `json:"port"`
	Methods map[string]map[string]*Result `json:"methods"` // by need and method
	Opening []Call                        `json:"opening"` // calls before the first method

	Extension string `json:"extension,omitempty"` // why the library was not asked for it again
	Queries   string `json:"queries,omitempty"`   // why it was not asked again what it can do

	Left  []Row  `json:"left,omitempty"`
	Error string `json:"error,omitempty"`

	order []Method
}

// Works reports whether a need has a method that works.
func (r *Report) Works(need string) bool {
	for _, is := range r.Methods[need] {
		if is.Works {
			return true
		}
	}
	return false
}
