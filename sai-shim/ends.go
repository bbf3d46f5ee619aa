// SPDX-License-Identifier: Apache-2.0

package sai

// #include "ends.h"
import "C"

import (
	"errors"
	"unsafe"
)

// EndsByExit is what [NoteEnds] notes of a process that ends by C's exit.
const EndsByExit = C.ENDS_EXIT

// NoteEnds writes from now on to the first 4 octets of a memory that outlives the process,
// and is never unmapped, how it ends where C code ends it: the number of the signal, or
// [EndsByExit]. Go's own handlers go on. What a signal of Go's own code wrote there, which
// is a panic, the caller clears.
func NoteEnds(memory []byte) error {
	if C.ends_note((*C.int32_t)(unsafe.Pointer(unsafe.SliceData(memory)))) != 0 {
		return errors.New("watch how the process ends: the signals have no handlers")
	}
	return nil
}
