// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"log/slog"
	"slices"
	"strings"

	"sluice/orchagent-ext/host/files"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// Needs of an exclusion of calls rather than methods.
const (
	needExtension engine.Need = "extension" // the process ended in the question for the extension
	needCall      engine.Need = "call"      // the process ended in a call that reads
)

// exclusion is a method, or a call that reads, that ended a process or hung. It is an
// element of the JSON list in the file of exclusions, which later versions read.
type exclusion struct {
	Need    engine.Need   `json:"need"`
	Method  engine.Method `json:"method"`
	Call    string        `json:"call,omitempty"` // without the id of an object
	Why     string        `json:"why"`
	Library string        `json:"library"` // name of the library that did it, with its profile
	Mark    string        `json:"mark"`    // of the policy; "": any policy
}

// exclusionOf returns the exclusion that follows from how a process ended; ok is false
// where the fault is outside of methods and reading calls.
func exclusionOf(e *Ended, library string) (x exclusion, ok bool) {
	x = exclusion{Need: engine.Need(e.Trying.Need), Method: engine.Method(e.Trying.Method), Why: e.String(), Library: library, Mark: e.Trying.Mark}
	if n := needOfCall(e.Call); n != "" {
		x.Need, x.Method, x.Mark = n, engine.Exact, ""
	}
	switch {
	case strings.HasPrefix(e.Call, sai.Handshake):
		x.Need, x.Method, x.Mark = needExtension, "", ""
	case x.Need == "" || x.Need.Check(x.Method) != nil: // no method is at fault
		if !readsOnly(e.Call) {
			return x, false
		}
		x.Need, x.Method, x.Mark, x.Call = needCall, "", "", withoutID(e.Call)
		// one that ends the process at one attribute does so at others
		if strings.HasPrefix(e.Call, sai.Query+" ") {
			x.Call = sai.Query
		}
	}
	return x, true
}

// readsOnly reports whether a call only reads, so that sluiced can work without it.
// Creations, changes and removals have to be made, so a fault in one excludes its method.
func readsOnly(call string) bool {
	name, _, _ := strings.Cut(call, " ")
	return name == "get" || name == sai.Query || name == "list"
}

// withoutID returns a call with the ids of objects left out.
func withoutID(call string) string {
	words := strings.Fields(call)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "oid:") }), " ")
}

// addExclusion appends an exclusion to a file. The file is replaced as a whole; an
// unreadable one is a warning, since to know this exclusion matters more than the ones
// before. The error is that of writing.
func addExclusion(file string, x exclusion, log *slog.Logger) error {
	var all []exclusion
	files.ReadOptional(file, &all, func(err error) {
		log.Warn("the file of methods that ended sluiced is unreadable: it is written again", "error", err)
	})
	return files.WriteState(file, append(all, x))
}

// readExclusions returns the exclusions of a library that a file has; an unreadable file has
// an empty list.
func readExclusions(file, library string, log *slog.Logger) []exclusion {
	var all []exclusion
	files.ReadOptional(file, &all, func(err error) { log.Warn("read which methods ended sluiced before", "error", err) })
	return slices.DeleteFunc(all, func(x exclusion) bool { return x.Library != library })
}
