// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	sai "sluice/sai-shim"
)

// The journal: how the process ends (4 octets) and the magic, the trial, calls under way, the objects
// that were created last and are still there, and the last one of each type. The trial
// and each call have a slot: when it began (ns since 1970; 0: the slot is free), whether
// it takes too long, whether it is made beside the engine's steps, the length of a text, and the
// text. An object is its id (0: free)
// and its type, to the first zero. Numbers are in the machine's order.
const (
	slotSize    = 1024
	calls       = 32 // at once
	atObjects   = (2 + calls) * slotSize
	objects     = 16
	types       = 32
	objectSize  = 64
	journalSize = atObjects + (objects+types)*objectSize

	offMagic  = 8 // of the journal; the others are of a slot
	offBegan  = 0
	offHangs  = 8
	offBeside = 9
	offLength = 12
	offText   = 16
)

// Trying is the step of the engine during which a call is made.
type Trying struct {
	Need, Method string
	Mark         string // of the configuration
}

// String returns the step for errors. They are three words, which [Ended] is read from:
// need and method have no blanks.
func (t Trying) String() string { return t.Need + " " + t.Method + " " + t.Mark }

// Ended is how a process before this one ended in a call of the library.
type Ended struct {
	Call   string // with object and attributes
	Began  time.Time
	Signal int    // that the library caused; sai.EndsByExit: it left; 0: it did not end the process
	Hung   bool   // the call took longer than the limit
	Trying Trying // zero for a call beside the engine's steps
}

// AtFault reports whether the library ended the process, or hung; false for a process that
// was killed.
func (e *Ended) AtFault() bool { return e.Signal != 0 || e.Hung }

// String returns the end of a process for the operator. Times are UTC, in RFC 3339.
func (e *Ended) String() string {
	at := e.Began.UTC().Format(time.RFC3339)
	switch {
	case e.Signal == sai.EndsByExit:
		return fmt.Sprintf("the SAI library ended sluiced by exit in %s, at %s", e.Call, at)
	case e.Signal != 0:
		return fmt.Sprintf("the SAI library ended sluiced by %s in %s, at %s", unix.SignalName(unix.Signal(e.Signal)), e.Call, at)
	case e.Hung:
		return fmt.Sprintf("the SAI library did not return from %s, since %s", e.Call, at)
	}
	return fmt.Sprintf("sluiced was killed while the SAI library was in %s, since %s", e.Call, at)
}

// object is the place of an object; those behind the objects are of the types.
func object(memory []byte, i int) []byte {
	at := atObjects + i*objectSize
	return memory[at : at+objectSize : at+objectSize]
}

// created are the objects in a journal.
func created(memory []byte) (all []sai.Created) {
	for i := range objects {
		if o := read(object(memory, i)); o.ID != sai.Null {
			all = append(all, o)
		}
	}
	return all
}

// read returns the object at a place of the journal.
func read(place []byte) sai.Created {
	kind, _, _ := bytes.Cut(place[8:], []byte{0})
	return sai.Created{Object: string(kind), ID: sai.ObjectID(binary.NativeEndian.Uint64(place))}
}

// write has the id last: the process may be killed meanwhile.
func write(place []byte, o sai.Created) {
	clear(place)
	copy(place[8:objectSize-1], o.Object)
	binary.NativeEndian.PutUint64(place, uint64(o.ID))
}

// last is the place of the last object of a type, or one for it; nil if all places are
// taken.
func last(memory []byte, kind string) []byte {
	for i := range types {
		place := object(memory, objects+i)
		if is := read(place); is.Object == kind || is.ID == sai.Null {
			return place
		}
	}
	return nil
}

// ended returns the end of a process by its journal; nil if it ended outside of calls. Of
// several calls under way the one that began last counts.
func ended(memory []byte) *Ended {
	var last *Ended
	beside := false
	for i := range calls {
		s := slot(memory, i)
		began := int64(binary.NativeEndian.Uint64(s[offBegan:]))
		if began == 0 {
			continue
		}
		e := &Ended{Call: textIn(s), Began: time.Unix(0, began), Hung: s[offHangs] != 0, Signal: int(binary.NativeEndian.Uint32(memory))}
		if last == nil || e.Began.After(last.Began) {
			last, beside = e, s[offBeside] != 0
		}
	}
	if last == nil || beside {
		return last
	}
	if words := strings.Fields(textIn(memory[slotSize:])); len(words) == 3 {
		last.Trying = Trying{words[0], words[1], words[2]}
	}
	return last
}

// slot is that of a call.
func slot(memory []byte, i int) []byte {
	at := (2 + i) * slotSize
	return memory[at : at+slotSize : at+slotSize]
}

// textIn returns the text of a slot. A process that was killed in the middle of writing
// leaves any octets, so length and encoding are checked.
func textIn(slot []byte) string {
	n := min(binary.NativeEndian.Uint32(slot[offLength:]), slotSize-offText)
	return string(bytes.ToValidUTF8(slot[offText:offText+n], []byte("?")))
}
