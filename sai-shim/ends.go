// SPDX-License-Identifier: Apache-2.0

package sai

// #include "ends.h"
import "C"

import (
	"errors"
	"unsafe"
)

// EndsByExit is the note of [NoteEnds] for a process that ends by C's exit.
const EndsByExit = C.ENDS_EXIT

// NoteEnds makes C code that ends the process write the way to the first 4 octets of a
// memory that outlives the process: the number of the signal, or [EndsByExit]. The memory
// must stay mapped. Go's own handlers go on. A signal of Go's own code, which is a panic,
// writes there, too; the caller clears it. memory is a whole mapping: where its file is cut, or
// the disk fails, it becomes zeros of this process alone, and the process goes on.
func NoteEnds(memory []byte) error {
	if C.ends_note((*C.int32_t)(unsafe.Pointer(unsafe.SliceData(memory))), C.size_t(len(memory))) != 0 {
		return errors.New("watch how the process ends: the signals have no handlers")
	}
	return nil
}

// NoteLost reports whether the memory of [NoteEnds] has lost its file since.
func NoteLost() bool { return C.ends_lost() != 0 }
