// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"sluice/sai-shim/saiattr"
)

// Create creates an object, which is in force at once. The error is an [*Error]; with one
// the id is as the library left it, and names no object.
func (l *Library) Create(k saiattr.Kind, values ...saiattr.Value) (ObjectID, error) {
	if err := l.begin(); err != nil {
		return Null, err
	}
	defer l.end()
	for i := range values {
		l.gather(&values[i])
	}
	l.enter("create", k.Name, Null)
	var id C.uint64_t
	status := Status(C.shim_create(l.shim, C.int32_t(k.Number), &id))
	l.call.ID = ObjectID(id)
	return ObjectID(id), l.checkAnswer(status, withoutID(status, l.call.ID))
}

// withoutID returns the detail of an answer to create: "" where it is sound. An object of
// SAI has an id other than Null.
func withoutID(status Status, id ObjectID) (detail string) {
	if status == 0 && id == Null {
		return "without an object's id"
	}
	return ""
}

// Set sets an attribute of an object. The error is [ErrNotSupported] for an attribute
// that the library lacks, or that it takes at creation only.
func (l *Library) Set(k saiattr.Kind, id ObjectID, v saiattr.Value) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.end()
	l.gather(&v)
	l.enter("set", k.Name, id)
	return l.check(Status(C.shim_set(l.shim, C.int32_t(k.Number), C.uint64_t(id))))
}

// Remove removes an unused object; one in use is [ErrInUse] where the library checks
// that, and one that is gone [ErrNotFound].
func (l *Library) Remove(k saiattr.Kind, id ObjectID) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.end()
	l.enter("remove", k.Name, id)
	return l.check(Status(C.shim_remove(l.shim, C.int32_t(k.Number), C.uint64_t(id))))
}

// Get reads an attribute that is a number or an object. An action that is off is 0.
// Numbers are as wide as the attribute; the error is an [*Error], or names an attribute
// that is a list or an address.
func (l *Library) Get(k saiattr.Kind, id ObjectID, a *saiattr.Attr) (uint64, error) {
	n, _, err := l.Read(k, id, a)
	return n, err
}

// Read is [Library.Get]; on is false for a field that is left out of the match, and for
// an action that is off.
func (l *Library) Read(k saiattr.Kind, id ObjectID, a *saiattr.Attr) (n uint64, on bool, err error) {
	var v C.sai_attribute_value_t
	l.argue(saiattr.Value{Attr: a})
	if err := l.avoided("get", k.Name); err != nil {
		return 0, false, err
	}
	if err := l.begin(); err != nil {
		return 0, false, l.dropped(err)
	}
	defer l.end()
	l.enter("get", k.Name, id)
	status := Status(C.shim_get(l.shim, C.int32_t(k.Number), C.uint64_t(id), l.id(a), &v))
	n, on, readable := number(a.Form, &v)
	if read := &l.call.Arguments[0]; status == 0 && (a.Form == saiattr.OID || a.Form == saiattr.ActionOID) {
		read.List = []uint64{n}
	} else if status == 0 {
		read.Value = a.Of(n)
	}
	if err := l.check(status); err != nil {
		return 0, false, err
	}
	if !readable {
		return 0, false, fmt.Errorf("read %s: its form cannot be read", a.Name)
	}
	return n, on, nil
}

// number returns the value that was read, 0 for one that is off; ok is false for a form
// other than a number.
func number(f saiattr.Form, v *C.sai_attribute_value_t) (n uint64, on, ok bool) {
	at, on := unsafe.Pointer(v), true
	switch f {
	case saiattr.FieldU8, saiattr.FieldU16, saiattr.FieldU32:
		field := (*C.sai_acl_field_data_t)(at)
		at, on = unsafe.Pointer(&field.data), bool(field.enable)
	case saiattr.ActionU32, saiattr.ActionS32, saiattr.ActionOID:
		action := (*C.sai_acl_action_data_t)(at)
		at, on = unsafe.Pointer(&action.parameter), bool(action.enable)
	}
	switch f {
	case saiattr.Bool, saiattr.FieldU8:
		n = uint64(*(*uint8)(at))
	case saiattr.U16, saiattr.FieldU16:
		n = uint64(*(*uint16)(at))
	case saiattr.U32, saiattr.S32, saiattr.FieldU32, saiattr.ActionU32, saiattr.ActionS32:
		n = uint64(*(*uint32)(at))
	case saiattr.U64, saiattr.OID, saiattr.ActionOID:
		n = *(*uint64)(at)
	default:
		return 0, false, false
	}
	if !on {
		n = 0
	}
	return n, on, true
}

// GetObject is [Library.Get] of an attribute that is an object. It is [Null] where no
// object is set, such as a port without an ACL table.
func (l *Library) GetObject(k saiattr.Kind, id ObjectID, a *saiattr.Attr) (ObjectID, error) {
	v, err := l.Get(k, id, a)
	return ObjectID(v), err
}

// GetObjects reads an attribute that is a list of objects. The order is the library's. A
// list that grows with each of four calls, or claims more than 2^18 elements, is
// [ErrNotSupported].
func (l *Library) GetObjects(k saiattr.Kind, id ObjectID, a *saiattr.Attr) ([]ObjectID, error) {
	return getList[ObjectID](l, k, id, a)
}

// GetNumbers reads an attribute that is a list of numbers of 32 bits. The limits are
// those of [Library.GetObjects].
func (l *Library) GetNumbers(k saiattr.Kind, id ObjectID, a *saiattr.Attr) ([]uint32, error) {
	return getList[uint32](l, k, id, a)
}

// getList reads an attribute that is a list. It tries again with the length that the
// library reports, since SAI answers BUFFER_OVERFLOW with it.
func getList[T ~uint32 | ~uint64](l *Library, k saiattr.Kind, id ObjectID, a *saiattr.Attr) ([]T, error) {
	l.argue(saiattr.Value{Attr: a})
	if err := l.avoided("get", k.Name); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		return nil, l.dropped(err)
	}
	defer l.end()
	l.enter("get", k.Name, id)
	list, status, detail := grow(l, func(list []T, n *C.uint32_t) C.sai_status_t {
		return C.shim_get_list(l.shim, C.int32_t(k.Number), C.uint64_t(id), l.id(a), unsafe.Pointer(&list[0]), n)
	})
	read := &l.call.Arguments[0]
	for _, n := range list {
		read.List = append(read.List, uint64(n))
	}
	return list, l.checkAnswer(Status(status), detail)
}

// Limits of a list that a library returns.
const (
	firstRoom   = 64      // elements that the first call has room for: most lists are shorter
	maxElements = 1 << 18 // ACL entries are the longest list, and an ASIC has room for fewer
	// calls; a list may grow between two of them, as other processes create objects
	maxGrowths = 4
)

// grow calls a function with room for more and more elements, each time in a turn of its own,
// until there is enough. The caller has the first turn. detail
// is why the answer is false, "" for a sound one: the library's count is beyond maxElements,
// or grows with each call.
func grow[T any](l *Library, call func([]T, *C.uint32_t) C.sai_status_t) (list []T, status C.sai_status_t, detail string) {
	room := firstRoom
	for range maxGrowths {
		list = make([]T, room)
		n := C.uint32_t(room)
		status = call(list, &n)
		if status == C.SAI_STATUS_SUCCESS {
			return list[:min(int(n), room)], status, ""
		}
		if status != C.SAI_STATUS_BUFFER_OVERFLOW || int(n) <= room {
			return nil, status, ""
		}
		if n > maxElements {
			return nil, status, fmt.Sprintf("with %d elements, of at most %d", n, maxElements)
		}
		room = int(n)
		l.end()
		if err := l.begin(); err != nil {
			return nil, status, fmt.Sprintf("and was not called again: %v", err)
		}
	}
	return nil, status, fmt.Sprintf("with more elements at each of %d calls, %d at last", maxGrowths, room)
}

// Exists reports whether an object is there: whether its library knows it when
// asked for an attribute.
func (l *Library) Exists(k saiattr.Kind, id ObjectID) bool {
	var v C.sai_attribute_value_t
	l.argue(saiattr.Value{Attr: k.Always})
	if l.avoided("get", k.Name) != nil {
		return true
	}
	if err := l.begin(); l.dropped(err) != nil {
		return true
	}
	defer l.end()
	l.enter("get", k.Name, id)
	status := Status(C.shim_get(l.shim, C.int32_t(k.Number), C.uint64_t(id), l.id(k.Always), &v))
	l.leave(status)
	return !(&Error{Status: status}).Is(ErrNotFound)
}

// Objects returns the objects of a type that are on the switch, whichever process created
// them. The error is [ErrNotSupported] for a library without lists.
func (l *Library) Objects(k saiattr.Kind) ([]ObjectID, error) {
	if err := l.avoided("list", k.Name); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	l.enter("list", k.Name, Null)
	ids, status, detail := grow(l, func(list []ObjectID, n *C.uint32_t) C.sai_status_t {
		return C.shim_objects(l.shim, C.int32_t(k.Number), (*C.uint64_t)(&list[0]), n)
	})
	// There are libraries that fill in the list, and leave its count as it is.
	return slices.DeleteFunc(ids, func(id ObjectID) bool { return id == Null }), l.checkAnswer(Status(status), detail)
}

// CanCreate reports whether objects of a type can be created with an attribute; known is
// false where the library leaves it open.
func (l *Library) CanCreate(k saiattr.Kind, a *saiattr.Attr) (can, known bool) {
	c, known := l.capability(k, a)
	return bool(c.create_implemented), known
}

// CanSet reports the same for setting an attribute. The answer is a claim: a Set that
// succeeds is the proof.
func (l *Library) CanSet(k saiattr.Kind, a *saiattr.Attr) (can, known bool) {
	c, known := l.capability(k, a)
	return bool(c.set_implemented), known
}

// capability asks whether an attribute can be created, set and read; known is false for a
// library that leaves it open.
func (l *Library) capability(k saiattr.Kind, a *saiattr.Attr) (c C.sai_attr_capability_t, known bool) {
	l.argue(saiattr.Value{Attr: a})
	if l.avoided(Query, k.Name) != nil {
		return c, false
	}
	if err := l.begin(); l.dropped(err) != nil {
		return c, false
	}
	defer l.end()
	l.enter(Query, k.Name, Null)
	status := Status(C.shim_capability(l.shim, C.int32_t(k.Number), l.id(a), &c))
	if status == 0 {
		l.call.Arguments[0].Text = fmt.Sprintf("create=%t set=%t get=%t", bool(c.create_implemented), bool(c.set_implemented), bool(c.get_implemented))
	}
	l.leave(status)
	return c, status == 0
}

// Takes reports whether an attribute takes a value of its enum; known is false where the
// library leaves it open.
func (l *Library) Takes(k saiattr.Kind, a *saiattr.Attr, value string) (can, known bool) {
	l.argue(saiattr.Value{Attr: a})
	if l.avoided(Query, k.Name+" values") != nil {
		return false, false
	}
	if err := l.begin(); l.dropped(err) != nil {
		return false, false
	}
	defer l.end()
	l.enter(Query, k.Name+" values", Null)
	values, status, _ := grow(l, func(list []int32, n *C.uint32_t) C.sai_status_t {
		return C.shim_enum_values(l.shim, C.int32_t(k.Number), l.id(a), (*C.int32_t)(&list[0]), n)
	})
	for _, n := range values {
		l.call.Arguments[0].List = append(l.call.Arguments[0].List, uint64(uint32(n)))
	}
	l.leave(Status(status))
	return slices.Contains(values, int32(a.EnumNumber(value))), status == C.SAI_STATUS_SUCCESS
}

// id is the number of an attribute, as the profile maps it.
func (l *Library) id(a *saiattr.Attr) C.uint32_t {
	if id, ok := l.mapped[a]; ok {
		return C.uint32_t(id)
	}
	return C.uint32_t(a.ID)
}

// gather passes a value to the shim, for the next call.
func (l *Library) gather(v *saiattr.Value) {
	l.argue(*v)
	s, id, n := l.shim, l.id(v.Attr), v.Number
	if v.Off {
		C.shim_action_off(s, id)
		return
	}
	switch v.Form {
	case saiattr.Bool:
		C.shim_bool(s, id, n != 0)
	case saiattr.U16:
		C.shim_u16(s, id, C.uint16_t(n))
	case saiattr.U32:
		C.shim_u32(s, id, C.uint32_t(n))
	case saiattr.U64:
		C.shim_u64(s, id, C.uint64_t(n))
	case saiattr.S32:
		C.shim_s32(s, id, C.int32_t(n))
	case saiattr.OID:
		C.shim_oid(s, id, C.uint64_t(v.ID()))
	case saiattr.U8s:
		four := word(n)
		C.shim_u8s(s, id, octets(four[:]), C.uint32_t(len(four)))
	case saiattr.S32s:
		list := make([]int32, len(v.List))
		for i, n := range v.List {
			list[i] = int32(n)
		}
		C.shim_s32s(s, id, (*C.int32_t)(unsafe.SliceData(list)), C.uint32_t(len(list)))
	case saiattr.OIDs:
		C.shim_oids(s, id, (*C.uint64_t)(unsafe.SliceData(v.List)), C.uint32_t(len(v.List)))
	case saiattr.FieldU8:
		C.shim_field_u8(s, id, C.uint8_t(n), C.uint8_t(v.Attr.Mask))
	case saiattr.FieldU16:
		C.shim_field_u16(s, id, C.uint16_t(n), C.uint16_t(v.Attr.Mask))
	case saiattr.FieldU32:
		C.shim_field_u32(s, id, C.uint32_t(n), C.uint32_t(v.Attr.Mask))
	case saiattr.FieldIP4:
		address := v.Address.As4()
		C.shim_field_ip4(s, id, C.uint32_t(binary.NativeEndian.Uint32(address[:])), 0xffffffff)
	case saiattr.IPAddress:
		address := v.Address.AsSlice()
		C.shim_ip(s, id, C.bool(v.Address.Is6()), octets(address))
	case saiattr.FieldIP6:
		address := v.Address.As16()
		C.shim_field_ip6(s, id, octets(address[:]), octets(allOnes[:]))
	case saiattr.FieldOctets:
		data, mask := word(n), word(uint64(v.Mask))
		C.shim_field_octets(s, id, octets(data[:]), octets(mask[:]), C.uint32_t(len(data)))
	case saiattr.ActionU32:
		C.shim_action_u32(s, id, C.uint32_t(n))
	case saiattr.ActionS32:
		C.shim_action_s32(s, id, C.int32_t(n))
	case saiattr.ActionOID:
		C.shim_action_oid(s, id, C.uint64_t(v.ID()))
	case saiattr.U32s, saiattr.Function: // is only read; is passed by shim_watch_packets
	}
}

// allOnes is the mask of a whole address.
var allOnes = [16]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}

// word is a number as four octets, as they are in a packet.
func word(n uint64) (w [4]byte) {
	binary.BigEndian.PutUint32(w[:], uint32(n))
	return w
}

// octets returns the address of the first octet for C.
func octets(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(b))) }
