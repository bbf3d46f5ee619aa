// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

import "unsafe"

// Drift is a part of the system below the library that is other than the library made it.
type Drift struct {
	Part, Place string // kind, such as clsact, and which of them, such as a netdev
	Fault       string // what is there instead
	Mendable    bool   // [Library.Mend] puts it back; else it is another owner's
}

// Audit returns what other programs took away or changed below the library, which changes nothing.
// Each piece of it has a turn of its own. [ErrNotSupported]: the library does not audit.
func (l *Library) Audit() ([]Drift, error) {
	var found []Drift
	list := make([]C.sai_sluice_drift_t, 16)
	for piece := C.uint32_t(0); ; {
		n := C.uint32_t(len(list))
		status, err := l.auditPiece(&piece, &n, list)
		if status == C.SAI_STATUS_BUFFER_OVERFLOW && int(n) > len(list) {
			list = make([]C.sai_sluice_drift_t, n+n/8)
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range list[:min(int(n), len(list))] {
			d := &list[i]
			found = append(found, Drift{Part: C.GoString(&d.part[0]), Place: C.GoString(&d.place[0]), Fault: C.GoString(&d.fault[0]), Mendable: d.mendable != 0})
		}
		if piece == 0 {
			return found, nil
		}
	}
}

// auditPiece calls one piece of an audit in a turn.
func (l *Library) auditPiece(piece, n *C.uint32_t, list []C.sai_sluice_drift_t) (Status, error) {
	if err := l.begin(); err != nil {
		return 0, err
	}
	defer l.end()
	l.enter("audit", "system", Null)
	status := Status(C.shim_audit(l.shim, piece, n, &list[0]))
	return status, l.check(status)
}

// Mend puts a part back, as [Library.Audit] returned it.
func (l *Library) Mend(d Drift) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.end()
	var c C.sai_sluice_drift_t
	if d.Mendable {
		c.mendable = 1
	}
	fill(c.part[:], d.Part)
	fill(c.place[:], d.Place)
	fill(c.fault[:], d.Fault)
	l.enter("mend", d.Part, Null)
	return l.check(Status(C.shim_mend(l.shim, &c)))
}

// fill copies a text into an array of C that ends with a 0.
func fill(to []C.char, text string) {
	at := unsafe.Slice((*byte)(unsafe.Pointer(&to[0])), len(to))
	copy(at[:len(at)-1], text)
}
