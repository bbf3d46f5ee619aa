// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/orchagent-ext/host/files"
	"sluice/yang/rows"
)

// stateFile is the file of the rows in force, and the databases that they are of. Rows of
// SONiC's tables have no fields.
type stateFile struct {
	Database string     `json:"config_db"`
	Rows     []rows.Row `json:"rows"`
}

// writeAgain is how long after a failure the file is written again.
const writeAgain = 10 * time.Second

// writeTimeout is how long the ledger waits for the file, so that the next process knows the rows of
// objects that others saw. A disk that hangs takes longer.
const writeTimeout = 100 * time.Millisecond

// diskRest is how long rows change before they are sent to the disk, which a switch that is
// programmed meanwhile then shares its CPUs with. The next process reads them without.
const diskRest = 100 * time.Millisecond

// InForce keeps the rows that are in force in a file, for the next start. It writes in a
// task of its own, so that the loop never waits for a disk.
type InForce struct {
	file     string // or ""
	database string
	next     chan pending  // of capacity 1: the latest
	done     chan struct{} // closed when the last one was handled; nil: there was none
	until    time.Time     // that Wait waits for it

	mu  sync.Mutex
	err error // of the last write
}

// pending is the rows that are to be written.
type pending struct {
	known []rows.Row
	done  chan struct{}
}

// NewInForce returns the rows in force of a database, in a file; "": they are kept
// nowhere. database names Redis by its address and number, so that rows of another Redis
// are left alone. Nothing is read or written before Read and [InForce.Run].
func NewInForce(file, database string) *InForce {
	return &InForce{file: file, database: database, next: make(chan pending, 1)}
}

// Read returns the rows that an earlier process kept; nil where they are of another
// database, or unreadable: warn gets the reason.
func (k *InForce) Read(warn func(error)) []rows.Row {
	if k.file == "" {
		return nil
	}
	var was stateFile
	if files.ReadOptional(k.file, &was, warn); was.Database != k.database {
		return nil
	}
	return was.Rows
}

// Keep has rows written. One goroutine calls it, and Wait. It returns at once; rows that
// Run had yet to write are replaced by these. The slice is the callee's from then on,
// which sorts it.
func (k *InForce) Keep(known []rows.Row) {
	select {
	case <-k.next:
	default:
	}
	k.done, k.until = make(chan struct{}), time.Now().Add(writeTimeout)
	k.next <- pending{known, k.done}
}

// Wait waits until the file has the rows that were given last, until 100 ms after that at most. Call
// it before others see that the switch was programmed by these rows.
func (k *InForce) Wait() {
	if k.done == nil {
		return
	}
	late := time.NewTimer(time.Until(k.until))
	defer late.Stop()
	select {
	case <-k.done:
	case <-late.C:
	}
}

// Run writes until ctx ends, and then the rows that were given before that. It returns
// nil. A failed write is repeated every 10 s, and shown by Warning. Rows are read back by the next
// process once they are written; they reach the disk 100 ms later, and the newest ones next.
func (k *InForce) Run(ctx context.Context) error {
	var p pending
	w := &inForceWriter{InForce: k, again: time.NewTimer(time.Hour), rest: time.NewTimer(time.Hour)}
	defer w.again.Stop()
	defer w.rest.Stop()
	for {
		select {
		case p = <-k.next:
			w.write(p.known)
			close(p.done)
		case <-w.again.C:
			w.write(p.known)
		case <-w.rest.C:
			w.sync()
		case err := <-w.synced:
			w.end(err)
			w.delay()
		case <-ctx.Done():
			select {
			case p = <-k.next:
				w.write(p.known)
				close(p.done)
			default:
			}
			for w.sync(); w.synced != nil; w.sync() {
				w.end(<-w.synced)
			}
			return nil
		}
	}
}

// inForceWriter has the rows on their way to the disk.
type inForceWriter struct {
	*InForce
	last   []byte       // text that the next process would read; nil: a failure
	newest *files.Draft // that waits for the disk; nil: none
	synced chan error   // gets the end of the draft before it; nil: the disk is free
	again  *time.Timer  // to the next try after a failure
	rest   *time.Timer  // until the newest draft is sent to the disk
}

// write writes rows that differ from the last ones.
func (w *inForceWriter) write(known []rows.Row) {
	if w.file == "" || known == nil {
		return
	}
	slices.SortFunc(known, func(a, b rows.Row) int { return strings.Compare(a.Name(), b.Name()) })
	text, err := json.Marshal(stateFile{w.database, known})
	if err == nil && bytes.Equal(text, w.last) {
		return
	}
	var d *files.Draft
	if err == nil {
		d, err = files.NewDraft(w.file, json.RawMessage(text))
	}
	if err != nil {
		w.fail(err)
		return
	}
	was := w.newest
	w.last, w.newest = text, d
	if was != nil {
		// it is no more; the kernel removes its pages, which waits for a disk that has some of them
		go func() { _ = was.Close() }()
		return
	}
	w.delay()
}

// delay has the newest draft sent to the disk in a while; drafts that follow it go in its place.
func (w *inForceWriter) delay() {
	if w.newest != nil {
		w.rest.Reset(diskRest)
	}
}

// sync sends the newest draft to the disk, once that is free.
func (w *inForceWriter) sync() {
	if w.newest == nil || w.synced != nil {
		return
	}
	d, synced := w.newest, make(chan error, 1)
	w.newest, w.synced = nil, synced
	go func() { synced <- syncDraft(d) }()
}

// syncDraft is Sync of a draft; tests replace it.
var syncDraft = (*files.Draft).Sync

// end notes that a draft is on the disk, or why it is not.
func (w *inForceWriter) end(err error) {
	w.synced = nil
	switch {
	case err != nil:
		w.fail(err)
	case w.last != nil:
		w.setError(nil)
	}
}

// fail notes an error, and tries again later.
func (w *inForceWriter) fail(err error) {
	w.last = nil
	w.setError(err)
	w.again.Reset(writeAgain)
}

func (k *InForce) setError(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
}

// Remove removes the file. A file that is missing is a success.
func (k *InForce) Remove() error {
	if k.file == "" {
		return nil
	}
	return files.RemoveState(k.file)
}

// Warning returns the warning that the file cannot be written; "": it is written. Any
// goroutine may call it.
func (k *InForce) Warning() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		return ""
	}
	return fmt.Sprintf("cannot keep the rows in force for the next start: %v", k.err)
}
