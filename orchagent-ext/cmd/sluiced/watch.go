// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/saiwatch"
	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/statefile"
	"sluice/orchagent-ext/telemetry"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// Times of the watch over the SAI library.
const (
	lookTime = 250 * time.Millisecond // between two looks at the call that is made
	tellTime = time.Second            // that Redis may take to be told
	endTime  = 4 * time.Second        // that a call may take after SIGTERM
)

// exitHung is the exit status where a call of the SAI library did not return after SIGTERM.
const exitHung = 3

// needExtension is the need of a blame where the library ended sluiced when it was asked for
// the extension, which is before any method.
const needExtension asic.Need = "extension"

// needNone is the need of a blame where no method is at fault, but a call that reads.
const needNone asic.Need = "call"

// blame is a method that has ended sluiced, or hung; or a call that reads.
type blame struct {
	Need    asic.Need   `json:"need"`
	Method  asic.Method `json:"method"`
	Call    string      `json:"call,omitempty"` // without the id of an object
	Why     string      `json:"why"`
	Library string      `json:"library"` // that did it, and its profile
	Mark    string      `json:"mark"`    // of the policy
}

// libraryWatch is what sluiced knows of the calls of its SAI library.
type libraryWatch struct {
	*saiwatch.Watch
	log     *slog.Logger
	file    string // of the blames; "": none
	library string // which it is
	ended   string // how the process before ended; "": properly

	creating string // type of the object that it was creating then; "": none

	blames      []blame         // of the library
	noExtension string          // why the library is not asked for the extension; "": it is
	avoid       map[string]bool // calls that are not made
	avoids      []string        // why

	stateDB *sonicdb.DB

	mu    sync.Mutex
	hangs string // for /healthz; "": nothing does
}

// watchLibrary begins to watch the calls of the library, and reads how the process before
// ended.
func watchLibrary(o *options, databases *sonicdb.Databases, log *slog.Logger) (*libraryWatch, error) {
	w := &libraryWatch{log: log, library: libraryName(o), avoid: map[string]bool{}}
	journal := ""
	if memory := strings.TrimSuffix(o.memory(), ".json"); memory != "" {
		journal, w.file = memory+"-sai.journal", memory+"-sai.json"
	}
	var err error
	var ended *saiwatch.Ended
	if w.Watch, ended, err = saiwatch.New(journal, o.callLimit); err != nil {
		return nil, fmt.Errorf("watch the calls of the SAI library: %w", err)
	}
	if w.stateDB, err = sonicdb.Open(databases, "STATE_DB", log); err != nil {
		return nil, err
	}
	if ended != nil {
		if object, creates := strings.CutPrefix(ended.Call, "create "); creates {
			w.creating, _, _ = strings.Cut(object, " ")
		}
	}
	switch {
	case ended == nil:
	case !ended.Blamed():
		log.Info(ended.String())
	default:
		w.ended = ended.String()
		log.Error(w.ended)
		if err := w.blame(ended); err != nil {
			return nil, err
		}
	}
	w.blames = w.readBlames()
	for _, b := range w.blames {
		switch b.Need {
		case needExtension:
			w.noExtension = b.Why + "; this library is not asked for the extension again"
			log.Warn(w.noExtension)
		case needNone:
			w.avoid[b.Call] = true
			w.avoids = append(w.avoids, b.Why+"; this library is not called so again")
			log.Warn(w.avoids[len(w.avoids)-1])
		}
	}
	return w, nil
}

// libraryName says which library it is: another file or profile is another library.
func libraryName(o *options) string {
	name := o.library
	if is, err := os.Stat(o.library); err == nil {
		name = fmt.Sprintf("%s %d %d", name, is.Size(), is.ModTime().UnixNano())
	}
	for _, key := range slices.Sorted(maps.Keys(o.profile)) {
		name += fmt.Sprintf(" %s=%s", key, o.profile[key])
	}
	return name
}

// blame remembers the method whose call ended the process.
func (w *libraryWatch) blame(e *saiwatch.Ended) error {
	b := blame{Need: asic.Need(e.Trying.Need), Method: asic.Method(e.Trying.Method), Why: e.String(), Library: w.library, Mark: e.Trying.Mark}
	if n := asic.NeedOfCall(e.Call); n != "" {
		b.Need, b.Method, b.Mark = n, asic.Exact, ""
	}
	switch {
	case w.file == "":
		return nil
	case strings.HasPrefix(e.Call, sai.Handshake):
		b.Need, b.Method, b.Mark = needExtension, "", ""
	case b.Need == "" || b.Need.Check(b.Method) != nil: // no method is at fault
		if !reads(e.Call) {
			return nil
		}
		b.Need, b.Method, b.Mark, b.Call = needNone, "", "", withoutID(e.Call)
	}
	var all []blame
	if err := statefile.Read(w.file, &all); err != nil {
		w.log.Warn("which methods ended sluiced before is forgotten", "error", err)
	}
	return statefile.Write(w.file, append(all, b), nil)
}

// reads says whether a call of the library changes nothing: it can be done without.
func reads(call string) bool {
	name, _, _ := strings.Cut(call, " ")
	return name == "get" || name == "ask" || name == "list"
}

// withoutID is a call of any object.
func withoutID(call string) string {
	words := strings.Fields(call)
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "oid:") }), " ")
}

// readBlames are those of the same library.
func (w *libraryWatch) readBlames() []blame {
	if w.file == "" {
		return nil
	}
	var all []blame
	if err := statefile.Read(w.file, &all); err != nil {
		w.log.Warn("which methods ended sluiced before cannot be read", "error", err)
	}
	return slices.DeleteFunc(all, func(b blame) bool { return b.Library != w.library })
}

// blamed are the methods that have ended sluiced, with the same library and policy.
func (w *libraryWatch) blamed(p asic.Policy) asic.Abilities {
	a := asic.Abilities{}
	for _, b := range w.blames {
		if b.Need != needExtension && b.Need != needNone && (b.Mark == "" || b.Mark == asic.Mark(p)) {
			a.Set(b.Need, b.Method, asic.Ability{Reason: b.Why + "; it is not tried again with this library and this configuration"})
		}
	}
	return a
}

// driver is one of the library by which the watch knows what each call is for.
func (w *libraryWatch) driver(d *asic.SAI) asic.Driver {
	return &asic.Tried{SAI: d, Blamed: w.blamed, Trying: func(n asic.Need, m asic.Method, mark string) {
		w.Try(saiwatch.Trying{Need: string(n), Method: string(m), Mark: mark})
	}}
}

// Warnings are what the operator should know.
func (w *libraryWatch) Warnings() []string {
	all := slices.Clone(w.avoids)
	if w.noExtension != "" {
		all = append(all, w.noExtension)
	}
	if w.ended != "" && !slices.ContainsFunc(all, func(why string) bool { return strings.HasPrefix(why, w.ended) }) {
		all = append([]string{w.ended}, all...)
	}
	return all
}

// Hangs says which call does not return; "": none. It may be called from any goroutine.
func (w *libraryWatch) Hangs() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hangs
}

// Run tells STATE_DB of a call that does not return, until ctx is done.
func (w *libraryWatch) Run(ctx context.Context) error {
	told := "" // in STATE_DB
	ticker := time.NewTicker(lookTime)
	defer ticker.Stop()
	for {
		call, since := w.Hanging()
		w.note(call, since)
		if call != told && w.tell(ctx, call, since) == nil {
			told = call
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// note remembers a call that hangs, for /healthz, and logs it once.
func (w *libraryWatch) note(call string, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.hangs
	if w.hangs = ""; call != "" {
		w.hangs = fmt.Sprintf("the SAI library does not return from %s, since %s", call, since.UTC().Format(time.RFC3339))
	}
	switch {
	case was == w.hangs:
	case call != "":
		w.log.Error(w.hangs)
	default:
		w.log.Warn("the SAI library has returned", "before", was)
	}
}

// tell writes a call that hangs to STATE_DB, or that none does.
func (w *libraryWatch) tell(ctx context.Context, call string, since time.Time) error {
	ctx, stop := context.WithTimeout(ctx, tellTime)
	defer stop()
	const callField, sinceField = "sai_call", "sai_call_since"
	row := rows.Row{Table: telemetry.TableState, Key: "global"}
	if call == "" {
		return w.stateDB.Amend(ctx, row, callField, sinceField)
	}
	row.Fields = map[string]string{callField: call, sinceField: *telemetry.Stamp(since)}
	return w.stateDB.Amend(ctx, row)
}

// enforceEnd ends the process where, after ctx was done, a call does not return.
func (w *libraryWatch) enforceEnd(ctx context.Context) {
	<-ctx.Done()
	time.Sleep(endTime)
	for {
		if call, since := w.Open(); call != "" && time.Since(since) >= endTime {
			w.log.Error("sluiced ends in a call of the SAI library that does not return; the next one takes over what is on the switch", "call", call, "since", since)
			_ = w.tell(context.WithoutCancel(ctx), call, since)
			os.Exit(exitHung)
		}
		time.Sleep(lookTime)
	}
}
