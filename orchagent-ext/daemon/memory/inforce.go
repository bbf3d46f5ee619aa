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

// writeTimeout is how long the switch waits for the file, so that the next process knows the
// rows that a killed process had programmed. A disk that hangs takes longer.
const writeTimeout = 100 * time.Millisecond

// InForce keeps the rows that are in force in a file, for the next start. It writes in a
// task of its own, so that the loop never waits for a disk.
type InForce struct {
	file     string // or ""
	database string
	next     chan pending  // of capacity 1: the latest
	done     chan struct{} // closed when the last one was handled; nil: there was none

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
	k.done = make(chan struct{})
	k.next <- pending{known, k.done}
}

// Wait waits for 100 ms at most until the file has the rows that were given last. Call it
// before the switch is programmed by these rows.
func (k *InForce) Wait() {
	select {
	case <-k.done:
	case <-time.After(writeTimeout):
	}
}

// Run writes until ctx ends, and then the rows that were given before that. It returns
// nil. A failed write is repeated every 10 s, and shown by Warning.
func (k *InForce) Run(ctx context.Context) error {
	var last []byte
	var now pending
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	handle := func() {
		handled := sync.OnceFunc(func() { close(now.done) })
		if !k.write(now.known, &last, handled) {
			again.Reset(writeAgain)
		}
		handled()
		now.done = make(chan struct{}) // of the next try
	}
	for {
		select {
		case now = <-k.next:
			handle()
		case <-again.C:
			if now.done != nil {
				handle()
			}
		case <-ctx.Done():
			select {
			case now = <-k.next:
				handle()
			default:
			}
			return nil
		}
	}
}

// write writes rows that differ from the last ones, and calls written when they outlive the
// process.
func (k *InForce) write(known []rows.Row, last *[]byte, written func()) bool {
	if k.file == "" || known == nil {
		return true
	}
	slices.SortFunc(known, func(a, b rows.Row) int { return strings.Compare(a.Name(), b.Name()) })
	text, err := json.Marshal(stateFile{k.database, known})
	if err == nil && bytes.Equal(text, *last) {
		return true
	}
	if err == nil {
		err = files.WriteState(k.file, json.RawMessage(text), written)
	}
	if err == nil {
		*last = text
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
	return err == nil
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
