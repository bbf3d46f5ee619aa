// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
)

// Status is the result of a SAI call: 0, or a negative code (saistatus.h). The codes from
// -0x10000 on carry the index of the refused attribute in their low 16 bits.
type Status int32

// Reasons by which [errors.Is] distinguishes errors.
var (
	// ErrNotSupported: the library, the object or the attribute is unsupported or
	// unimplemented. Another attempt is pointless.
	ErrNotSupported = errors.New("not supported")

	// ErrNoRoom: the table is full, or the ASIC's resources are used up.
	ErrNoRoom = errors.New("no room")

	// ErrNotFound: the object is missing.
	ErrNotFound = errors.New("not found")

	// ErrInUse: another object refers to this one.
	ErrInUse = errors.New("in use")
)

// Error is a refused call, with the reason. Compare it by [errors.Is] with the four
// reasons above, or read it by [errors.As].
type Error struct {
	Call      string // create, remove, set, get, …
	Object    string // such as acl_entry
	Attribute string // that was refused, or the only one of the call; "": none in particular
	Status    Status

	// Detail is the reason for which the answer is impossible for a switch; "" for an
	// ordinary refusal by Status. Such an answer is [ErrNotSupported], whatever the Status.
	Detail string
}

// Error implements [error]: call, object, attribute, status and detail in one line.
func (e *Error) Error() string {
	text := fmt.Sprintf("SAI %s %s: ", e.Call, e.Object)
	if e.Attribute != "" {
		text += e.Attribute + ": "
	}
	text += e.Status.String()
	if e.Detail != "" {
		text += " " + e.Detail
	}
	return text
}

// Is makes [errors.Is] distinguish the reasons. An invalid attribute or value counts as
// [ErrNotSupported], too: libraries answer so to an attribute that is newer than they
// are.
func (e *Error) Is(target error) bool {
	if e.Detail != "" {
		return target == ErrNotSupported
	}
	switch e.Status.base() {
	case C.SAI_STATUS_NOT_SUPPORTED, C.SAI_STATUS_NOT_IMPLEMENTED, C.SAI_STATUS_ATTR_NOT_SUPPORTED_0,
		C.SAI_STATUS_ATTR_NOT_IMPLEMENTED_0, C.SAI_STATUS_UNKNOWN_ATTRIBUTE_0, C.SAI_STATUS_INVALID_ATTRIBUTE_0,
		C.SAI_STATUS_INVALID_ATTR_VALUE_0:
		return target == ErrNotSupported
	case C.SAI_STATUS_TABLE_FULL, C.SAI_STATUS_INSUFFICIENT_RESOURCES, C.SAI_STATUS_NO_MEMORY:
		return target == ErrNoRoom
	case C.SAI_STATUS_ITEM_NOT_FOUND, C.SAI_STATUS_INVALID_OBJECT_ID:
		return target == ErrNotFound
	case C.SAI_STATUS_OBJECT_IN_USE:
		return target == ErrInUse
	}
	return false
}

// indexed is the width of the ranges of codes that carry an attribute's index.
const indexed = 0x10000

// base returns the status with the attribute's index removed.
func (s Status) base() Status {
	if s > -indexed {
		return s
	}
	return s / indexed * indexed
}

// index returns the place of the attribute that the status is about, or -1.
func (s Status) index() int {
	if s > -indexed {
		return -1
	}
	return int(-s % indexed)
}

// statusNames are SAI's names of codes without their prefix (saistatus.h).
var statusNames = map[Status]string{
	C.SAI_STATUS_SUCCESS:                     "SUCCESS",
	C.SAI_STATUS_FAILURE:                     "FAILURE",
	C.SAI_STATUS_NOT_SUPPORTED:               "NOT_SUPPORTED",
	C.SAI_STATUS_NO_MEMORY:                   "NO_MEMORY",
	C.SAI_STATUS_INSUFFICIENT_RESOURCES:      "INSUFFICIENT_RESOURCES",
	C.SAI_STATUS_INVALID_PARAMETER:           "INVALID_PARAMETER",
	C.SAI_STATUS_ITEM_ALREADY_EXISTS:         "ITEM_ALREADY_EXISTS",
	C.SAI_STATUS_ITEM_NOT_FOUND:              "ITEM_NOT_FOUND",
	C.SAI_STATUS_BUFFER_OVERFLOW:             "BUFFER_OVERFLOW",
	C.SAI_STATUS_UNINITIALIZED:               "UNINITIALIZED",
	C.SAI_STATUS_TABLE_FULL:                  "TABLE_FULL",
	C.SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING: "MANDATORY_ATTRIBUTE_MISSING",
	C.SAI_STATUS_NOT_IMPLEMENTED:             "NOT_IMPLEMENTED",
	C.SAI_STATUS_ADDR_NOT_FOUND:              "ADDR_NOT_FOUND",
	C.SAI_STATUS_OBJECT_IN_USE:               "OBJECT_IN_USE",
	C.SAI_STATUS_INVALID_OBJECT_TYPE:         "INVALID_OBJECT_TYPE",
	C.SAI_STATUS_INVALID_OBJECT_ID:           "INVALID_OBJECT_ID",
	C.SAI_STATUS_INVALID_ATTRIBUTE_0:         "INVALID_ATTRIBUTE",
	C.SAI_STATUS_INVALID_ATTR_VALUE_0:        "INVALID_ATTR_VALUE",
	C.SAI_STATUS_ATTR_NOT_IMPLEMENTED_0:      "ATTR_NOT_IMPLEMENTED",
	C.SAI_STATUS_UNKNOWN_ATTRIBUTE_0:         "UNKNOWN_ATTRIBUTE",
	C.SAI_STATUS_ATTR_NOT_SUPPORTED_0:        "ATTR_NOT_SUPPORTED",
}

// String is SAI's name without SAI_STATUS_, or the code of an unknown one. The index of
// an attribute is left out.
func (s Status) String() string {
	if name, ok := statusNames[s.base()]; ok {
		return name
	}
	return fmt.Sprintf("status %d", int32(s))
}
