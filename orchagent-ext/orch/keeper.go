// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/orchagent-ext/statefile"
	"sluice/yang/rows"
)

// kept is the state file: the rows that are in force, of which databases. Rows of
// SONiC's tables have no fields.
type kept struct {
	Database string     `json:"config_db"`
	Rows     []rows.Row `json:"rows"`
}

// keepAgain is how long after a failure the file is written again.
const keepAgain = 10 * time.Second

// keepPatience is how long the switch waits for the file: what a process that is
// killed then had programmed, the next one knows. A disk that hangs takes longer.
const keepPatience = 100 * time.Millisecond

// keeper writes the state file, so that the loop never waits for a disk.
type keeper struct {
	file     string // "": none
	database string
	next     chan keeping  // of capacity 1: the latest
	done     chan struct{} // closed when the last one was handled; nil: there was none

	mu  sync.Mutex
	err error // of the last writing
}

// keeping is what is to be written.
type keeping struct {
	known []rows.Row
	done  chan struct{}
}

func newKeeper(file, database string) *keeper {
	return &keeper{file: file, database: database, next: make(chan keeping, 1)}
}

// read returns what an earlier process kept; nothing, where that was of other
// databases.
func (k *keeper) read() ([]rows.Row, error) {
	if k.file == "" {
		return nil, nil
	}
	var was kept
	if err := statefile.Read(k.file, &was); err != nil || was.Database != k.database {
		return nil, err
	}
	return was.Rows, nil
}

// keep has rows written. It is for one goroutine, as is wait.
func (k *keeper) keep(known []rows.Row) {
	select {
	case <-k.next:
	default:
	}
	k.done = make(chan struct{})
	k.next <- keeping{known, k.done}
}

// wait waits until the file has what was given last, or its patience ends.
func (k *keeper) wait() {
	select {
	case <-k.done:
	case <-time.After(keepPatience):
	}
}

// run writes until ctx is done, and what was given before that.
func (k *keeper) run(ctx context.Context) error {
	var last []byte
	var now keeping
	again := time.NewTimer(time.Hour)
	defer again.Stop()
	handle := func() {
		handled := sync.OnceFunc(func() { close(now.done) })
		if !k.write(now.known, &last, handled) {
			again.Reset(keepAgain)
		}
		handled()
		now.done = make(chan struct{}) // of trying again
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

// write writes what is not as it was written last, and calls written when that
// outlives the process.
func (k *keeper) write(known []rows.Row, last *[]byte, written func()) bool {
	if k.file == "" || known == nil {
		return true
	}
	slices.SortFunc(known, func(a, b rows.Row) int { return strings.Compare(a.Name(), b.Name()) })
	text, err := json.Marshal(kept{k.database, known})
	if err == nil && bytes.Equal(text, *last) {
		return true
	}
	if err == nil {
		err = statefile.Write(k.file, json.RawMessage(text), written)
	}
	if err == nil {
		*last = text
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
	return err == nil
}

// remove removes the file.
func (k *keeper) remove() error {
	if k.file == "" {
		return nil
	}
	return statefile.Remove(k.file)
}

// warning is what the operator should know; "": the file is written.
func (k *keeper) warning() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		return ""
	}
	return fmt.Sprintf("rows in force cannot be kept for the next start: %v", k.err)
}
