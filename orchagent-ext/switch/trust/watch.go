// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	sai "sluice/sai-shim"
)

// Watch records each call of a library: it is a [sai.Watcher].
type Watch struct {
	limit  time.Duration
	memory []byte // is never unmapped
	slots  [calls]struct {
		sync.Mutex
		began time.Time // zero: the slot is free
	}
	trying sync.Mutex

	created []sai.Created // by earlier processes
	next    int           // place of the next object
}

// New begins to watch. The journal is a file of this process alone; with "", and where the
// file cannot be had, its entries end with the process: warn gets the reason. ended is the
// call that a process before was in when it ended, or nil. A call that takes longer than
// limit hangs.
func New(journal string, limit time.Duration, warn func(error)) (w *Watch, ended *Ended, err error) {
	w = &Watch{limit: limit}
	if w.memory, ended, err = mapJournal(journal, warn); err != nil {
		return nil, nil, err
	}
	w.created = created(w.memory)
	return w, ended, sai.NoteEnds(w.memory)
}

// Lost reports whether the file was cut, or its disk failed, since it was mapped: the entries
// are in memory of this process from then on.
func (w *Watch) Lost() bool { return sai.NoteLost() }

// Created returns the objects that earlier processes created last and left: one of these
// was killed, maybe, before the ledger had the last one's id.
func (w *Watch) Created() []sai.Created { return w.created }

// Calling implements [sai.Watcher]. The slot's start time is written last: only with it
// the slot counts as taken after a kill. It allocates nothing unless the text is longer
// than a slot.
func (w *Watch) Calling(c *sai.Call) int {
	for i := range w.slots {
		at := &w.slots[i]
		if !at.TryLock() {
			continue
		}
		if at.began.IsZero() {
			at.began = time.Now()
			s := slot(w.memory, i)
			text := c.Append(s[offText:offText:slotSize])
			// a longer one is cut
			binary.NativeEndian.PutUint32(s[offLength:], uint32(copy(s[offText:], text)))
			s[offHangs], s[offBeside] = 0, 0
			if c.Beside {
				s[offBeside] = 1
			}
			atomic.StoreUint32((*uint32)(unsafe.Pointer(&w.memory[0])), 0) // Go's own code went on
			binary.NativeEndian.PutUint64(s[offBegan:], uint64(at.began.UnixNano()))
			at.Unlock()
			return i
		}
		at.Unlock()
	}
	return -1 // so many at once are not watched
}

// Called implements [sai.Watcher]. A token of -1 is of a call that found all slots taken.
func (w *Watch) Called(token int, c *sai.Call, answer sai.Status) {
	if answer == 0 {
		w.noteObject(c)
	}
	if token < 0 {
		return
	}
	at := &w.slots[token]
	at.Lock()
	at.began = time.Time{}
	binary.NativeEndian.PutUint64(slot(w.memory, token)[offBegan:], 0)
	at.Unlock()
}

// noteObject notes an object that was created, and forgets one that was removed. These calls
// come from one goroutine, the engine's.
func (w *Watch) noteObject(c *sai.Call) {
	switch {
	case c.Name == "create" && c.ID != sai.Null:
		o := sai.Created{Object: c.Object, ID: c.ID}
		write(object(w.memory, w.next), o)
		w.next = (w.next + 1) % objects
		if place := last(w.memory, c.Object); place != nil {
			write(place, o)
		}
	case c.Name == "remove":
		for i := range objects {
			if o := object(w.memory, i); read(o).ID == c.ID {
				clear(o)
			}
		}
	}
}

// Last is the object of a type that this process or an earlier one created last, removed
// or there; Null for an unknown one. It is for the goroutine that creates objects.
func (w *Watch) Last(object string) sai.ObjectID {
	if place := last(w.memory, object); place != nil {
		return read(place).ID
	}
	return sai.Null
}

// Try records the step of the engine from now on. The zero Trying is between two steps.
func (w *Watch) Try(t Trying) {
	w.trying.Lock()
	defer w.trying.Unlock()
	s := w.memory[slotSize : 2*slotSize]
	binary.NativeEndian.PutUint32(s[offLength:], uint32(copy(s[offText:], t.String())))
}

// Open returns the call that is being made for the longest time, and when it began; ""
// between calls.
func (w *Watch) Open() (call string, since time.Time) {
	for i := range w.slots {
		at := &w.slots[i]
		at.Lock()
		if !at.began.IsZero() && (call == "" || at.began.Before(since)) {
			call, since = textIn(slot(w.memory, i)), at.began
		}
		at.Unlock()
	}
	return call, since
}

// Hanging is [Watch.Open] of a call that takes longer than the limit, which the journal
// remembers.
func (w *Watch) Hanging() (call string, since time.Time) {
	now := time.Now()
	for i := range w.slots {
		at := &w.slots[i]
		at.Lock()
		if !at.began.IsZero() && now.Sub(at.began) > w.limit {
			s := slot(w.memory, i)
			s[offHangs] = 1
			if call == "" || at.began.Before(since) {
				call, since = textIn(s), at.began
			}
		}
		at.Unlock()
	}
	return call, since
}
