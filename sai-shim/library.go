// SPDX-License-Identifier: Apache-2.0

package sai

// #cgo CFLAGS: -std=gnu11 -Wall -Wextra -Werror
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ObjectID is the id of an object on the switch. Null is the id of no object.
type ObjectID uint64

// Null is no object.
const Null ObjectID = C.SAI_NULL_OBJECT_ID

// String is the id as SONiC writes it: "oid:0x…".
func (id ObjectID) String() string {
	return string(strconv.AppendUint([]byte("oid:0x"), uint64(id), 16))
}

// ParseObjectID reads what [ObjectID.String] wrote.
func ParseObjectID(s string) (ObjectID, error) {
	if len(s) > 4 && s[:4] == "oid:" {
		if v, err := strconv.ParseUint(s[4:], 0, 64); err == nil {
			return ObjectID(v), nil
		}
	}
	return Null, fmt.Errorf("%q is no object id: it is oid:0x and hexadecimal digits", s)
}

// Library is an open SAI library with its switch.
type Library struct {
	shim    *C.struct_shim
	Switch  ObjectID // Null before CreateSwitch
	names   []string // of the attributes being gathered
	setID   uint32   // ids of the extension, maybe mapped by the profile
	compID  uint32
	event   *os.File
	packets []C.struct_shim_packet
	count   [8]byte // of the event

	queueStats []QueueStat // that the library has, as far as is known
	extension  int         // version, 0 for none
}

// Keys of the profile that map the extension's attributes to a vendor's ids.
const (
	profileSetLabel     = "SLUICE_EXT_SET_IPV6_FLOW_LABEL"
	profileComputeLabel = "SLUICE_EXT_COMPUTE_IPV6_FLOW_LABEL"
)

// minVersion is SAI 1.12: the layout of sai_acl_capability_t is since then what
// it is.
const minVersion = 11200

// Open loads the library at path, and initializes it with the profile's
// key-values. An error says in one line which file, and what is wrong with it.
func Open(path string, profile map[string]string) (*Library, error) {
	l := &Library{setID: C.SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL, compID: C.SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL}
	for key, id := range map[string]*uint32{profileSetLabel: &l.setID, profileComputeLabel: &l.compID} {
		if text, ok := profile[key]; ok {
			v, err := strconv.ParseUint(text, 0, 32)
			if err != nil {
				return nil, fmt.Errorf("SAI profile: %s=%q is not an attribute id, decimal or with 0x", key, text)
			}
			*id = uint32(v)
		}
	}
	keys := slices.Sorted(maps.Keys(profile))
	pairs := C.malloc(C.size_t(2*len(keys)+1) * C.size_t(unsafe.Sizeof(uintptr(0))))
	defer C.free(pairs)
	list := unsafe.Slice((**C.char)(pairs), 2*len(keys)+1)
	for i, k := range keys {
		list[i], list[len(keys)+i] = C.CString(k), C.CString(profile[k])
		defer C.free(unsafe.Pointer(list[i]))
		defer C.free(unsafe.Pointer(list[len(keys)+i]))
	}
	file := C.CString(path)
	defer C.free(unsafe.Pointer(file))
	if message := C.shim_open(file, &list[0], &list[len(keys)], C.int(len(keys)), &l.shim); message != nil {
		defer C.free(unsafe.Pointer(message))
		return nil, errors.New(C.GoString(message))
	}
	if v := l.Version(); v != 0 && v < minVersion {
		C.shim_close(l.shim)
		return nil, fmt.Errorf("%s speaks SAI %d.%d; 1.12 is the least that is needed", path, v/10000, v/100%100)
	}
	fd, err := unix.FcntlInt(uintptr(C.shim_packets_fd(l.shim)), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		C.shim_close(l.shim)
		return nil, os.NewSyscallError("fcntl", err)
	}
	l.event = os.NewFile(uintptr(fd), "packet event")
	return l, nil
}

// Version is the library's version of SAI: major * 10000 + minor * 100; 0 where
// it does not say.
func (l *Library) Version() uint64 { return uint64(C.shim_version(l.shim)) }

// Close uninitializes and unloads the library, which keeps or drops the objects on
// the switch. No [Library.Packets] may be running, nor any other call.
func (l *Library) Close() error {
	err := l.event.Close()
	C.shim_close(l.shim)
	l.shim = nil
	return err
}

// CreateSwitch initializes the switch, or, with initialize false, connects to
// one that another process initialized.
func (l *Library) CreateSwitch(initialize bool) error {
	l.flag(C.SAI_SWITCH_ATTR_INIT_SWITCH, "SAI_SWITCH_ATTR_INIT_SWITCH", initialize)
	var id C.uint64_t
	if err := l.check("create", "switch", C.shim_create_switch(l.shim, &id)); err != nil {
		return err
	}
	l.Switch = ObjectID(id)
	l.extension = int(C.shim_extension(l.shim))
	return nil
}

// RemoveSwitch removes the switch that CreateSwitch made.
func (l *Library) RemoveSwitch() error {
	return l.check("remove", "switch", C.shim_remove_switch(l.shim))
}

// check makes an error of a status, and forgets the names of the attributes.
func (l *Library) check(call, object string, status C.sai_status_t) error {
	names := l.names
	l.names = l.names[:0]
	if status == C.SAI_STATUS_SUCCESS {
		return nil
	}
	e := &Error{Call: call, Object: object, Status: Status(status)}
	if i := e.Status.index(); i >= 0 && i < len(names) {
		e.Attribute = names[i]
	}
	return e
}

func (l *Library) named(name string) { l.names = append(l.names, name) }

func (l *Library) flag(id C.uint32_t, name string, v bool) {
	l.named(name)
	C.shim_bool(l.shim, id, C.bool(v))
}

func (l *Library) u32(id C.uint32_t, name string, v uint32) {
	l.named(name)
	C.shim_u32(l.shim, id, C.uint32_t(v))
}

func (l *Library) u64(id C.uint32_t, name string, v uint64) {
	l.named(name)
	C.shim_u64(l.shim, id, C.uint64_t(v))
}

func (l *Library) enum(id C.uint32_t, name string, v int32) {
	l.named(name)
	C.shim_s32(l.shim, id, C.int32_t(v))
}

func (l *Library) oid(id C.uint32_t, name string, v ObjectID) {
	l.named(name)
	C.shim_oid(l.shim, id, C.uint64_t(v))
}

func (l *Library) enums(id C.uint32_t, name string, v []int32) {
	l.named(name)
	C.shim_s32s(l.shim, id, (*C.int32_t)(unsafe.SliceData(v)), C.uint32_t(len(v)))
}

func (l *Library) oids(id C.uint32_t, name string, v []ObjectID) {
	l.named(name)
	C.shim_oids(l.shim, id, (*C.uint64_t)(unsafe.SliceData(v)), C.uint32_t(len(v)))
}

func (l *Library) create(k Kind) (ObjectID, error) {
	var id C.uint64_t
	err := l.check("create", k.name, C.shim_create(l.shim, k.number, &id))
	return ObjectID(id), err
}

// Kind is an object type.
type Kind struct {
	number C.int32_t
	name   string
	always C.uint32_t // an attribute that every object of the type has
}

// The object types that Sluice creates.
var (
	KindACLTable   = Kind{C.SAI_OBJECT_TYPE_ACL_TABLE, "acl_table", C.SAI_ACL_TABLE_ATTR_ACL_STAGE}
	KindACLEntry   = Kind{C.SAI_OBJECT_TYPE_ACL_ENTRY, "acl_entry", C.SAI_ACL_ENTRY_ATTR_PRIORITY}
	KindACLCounter = Kind{C.SAI_OBJECT_TYPE_ACL_COUNTER, "acl_counter", C.SAI_ACL_COUNTER_ATTR_TABLE_ID}
	KindHash       = Kind{C.SAI_OBJECT_TYPE_HASH, "hash", C.SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST}
	KindUDF        = Kind{C.SAI_OBJECT_TYPE_UDF, "udf", C.SAI_UDF_ATTR_OFFSET}
	KindUDFMatch   = Kind{C.SAI_OBJECT_TYPE_UDF_MATCH, "udf_match", C.SAI_UDF_MATCH_ATTR_L4_DST_PORT_TYPE}
	KindUDFGroup   = Kind{C.SAI_OBJECT_TYPE_UDF_GROUP, "udf_group", C.SAI_UDF_GROUP_ATTR_TYPE}
	KindPolicer    = Kind{C.SAI_OBJECT_TYPE_POLICER, "policer", C.SAI_POLICER_ATTR_MODE}
	KindUserTrap   = Kind{C.SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP, "hostif_user_defined_trap", C.SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE}
	KindTrapGroup  = Kind{C.SAI_OBJECT_TYPE_HOSTIF_TRAP_GROUP, "hostif_trap_group", C.SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER}
	KindScheduler  = Kind{C.SAI_OBJECT_TYPE_SCHEDULER, "scheduler", C.SAI_SCHEDULER_ATTR_SCHEDULING_TYPE}
	KindSample     = Kind{C.SAI_OBJECT_TYPE_SAMPLEPACKET, "samplepacket", C.SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE}
	KindMirror     = Kind{C.SAI_OBJECT_TYPE_MIRROR_SESSION, "mirror_session", C.SAI_MIRROR_SESSION_ATTR_TYPE}

	kindSwitch = Kind{C.SAI_OBJECT_TYPE_SWITCH, "switch", 0}
	kindPort   = Kind{C.SAI_OBJECT_TYPE_PORT, "port", 0}
	kindQueue  = Kind{C.SAI_OBJECT_TYPE_QUEUE, "queue", 0}
)

// Exists reports whether an object is there: whether its library knows it when
// asked for an attribute.
func (l *Library) Exists(k Kind, id ObjectID) bool {
	var v C.sai_attribute_value_t
	status := C.shim_get(l.shim, k.number, C.uint64_t(id), k.always, &v)
	return !(&Error{Status: Status(status)}).Is(ErrNotFound)
}

// get reads an attribute; the result is the union's octets.
func (l *Library) get(k Kind, id ObjectID, attribute C.uint32_t, name string) (v C.sai_attribute_value_t, err error) {
	l.named(name)
	err = l.check("get", k.name, C.shim_get(l.shim, k.number, C.uint64_t(id), attribute, &v))
	return v, err
}

// set sets the one attribute that was gathered.
func (l *Library) set(k Kind, id ObjectID) error {
	return l.check("set", k.name, C.shim_set(l.shim, k.number, C.uint64_t(id)))
}

func asU64(v C.sai_attribute_value_t) uint64 { return *(*uint64)(unsafe.Pointer(&v)) }
func asU32(v C.sai_attribute_value_t) uint32 { return *(*uint32)(unsafe.Pointer(&v)) }

// getList reads an attribute that is a list of elements.
func getList[T any](l *Library, k Kind, id ObjectID, attribute C.uint32_t, name string) ([]T, error) {
	room := 64
	for {
		list := make([]T, room)
		n := C.uint32_t(room)
		l.named(name)
		status := C.shim_get_list(l.shim, k.number, C.uint64_t(id), attribute, unsafe.Pointer(&list[0]), &n)
		if status == C.SAI_STATUS_BUFFER_OVERFLOW && int(n) > room {
			l.names = l.names[:0]
			room = int(n)
			continue
		}
		if err := l.check("get", k.name, status); err != nil {
			return nil, err
		}
		return list[:min(int(n), room)], nil
	}
}

// Objects returns the objects of a type that are on the switch, whichever process created
// them. Not every library has a list: [ErrNotSupported].
func (l *Library) Objects(k Kind) ([]ObjectID, error) {
	room := 64
	for {
		ids := make([]ObjectID, room)
		n := C.uint32_t(room)
		status := C.shim_objects(l.shim, k.number, (*C.uint64_t)(&ids[0]), &n)
		if status == C.SAI_STATUS_BUFFER_OVERFLOW && int(n) > room {
			room = int(n)
			continue
		}
		if err := l.check("list", k.name, status); err != nil {
			return nil, err
		}
		return ids[:min(int(n), room)], nil
	}
}

// capability says what an attribute of an object type takes. known is false
// where the library does not say.
func (l *Library) capability(k Kind, attribute uint32) (create, set, known bool) {
	var c C.sai_attr_capability_t
	if C.shim_capability(l.shim, k.number, C.uint32_t(attribute), &c) != C.SAI_STATUS_SUCCESS {
		return false, false, false
	}
	return bool(c.create_implemented), bool(c.set_implemented), true
}

// enumValues returns the values that an enum attribute takes; known is false
// where the library does not say.
func (l *Library) enumValues(k Kind, attribute C.uint32_t) (values []int32, known bool) {
	room := 64
	for {
		values = make([]int32, room)
		n := C.uint32_t(room)
		status := C.shim_enum_values(l.shim, k.number, attribute, (*C.int32_t)(&values[0]), &n)
		if status == C.SAI_STATUS_BUFFER_OVERFLOW && int(n) > room {
			room = int(n)
			continue
		}
		if status != C.SAI_STATUS_SUCCESS {
			return nil, false
		}
		return values[:min(int(n), room)], true
	}
}

// PacketRoom is how many octets of a packet to the CPU are kept.
const PacketRoom = C.SHIM_PACKET_ROOM

// Packet is a packet to the CPU.
type Packet struct {
	Data   []byte   // Ethernet frame, maybe cut
	Length int      // octets that the library gave
	Port   ObjectID // that it came in by; Null: not said
	Trap   ObjectID // user-defined trap; Null: none
}

// Packets waits for packets, no longer than patience, fills in up to len(out),
// and returns how many: 0 when none came. The data is valid until the next call.
// It returns the context's error when that ends first.
func (l *Library) Packets(ctx context.Context, out []Packet, patience time.Duration) (int, error) {
	if len(out) == 0 {
		return 0, nil
	}
	if len(l.packets) < len(out) {
		l.packets = make([]C.struct_shim_packet, len(out))
	}
	for deadline := time.Now().Add(patience); ; {
		if n := l.take(out); n > 0 {
			return n, nil
		}
		if !time.Now().Before(deadline) {
			return 0, nil
		}
		if err := l.wait(ctx, deadline); err != nil {
			return 0, err
		}
	}
}

// take takes what is in the ring.
func (l *Library) take(out []Packet) int {
	n := int(C.shim_packets_take(l.shim, &l.packets[0], C.int(len(out))))
	for i := range n {
		p := &l.packets[i]
		out[i] = Packet{
			Data:   unsafe.Slice((*byte)(&p.data[0]), int(p.captured)),
			Length: int(p.length), Port: ObjectID(p.port), Trap: ObjectID(p.trap),
		}
	}
	return n
}

// wait blocks until packets may wait, the deadline is over, or the context ends.
// The event may be that of packets which were taken without waiting.
func (l *Library) wait(ctx context.Context, deadline time.Time) error {
	if err := l.event.SetReadDeadline(deadline); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.event.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err := l.event.Read(l.count[:])
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// PacketsLost is how many packets found the ring full, since Open.
func (l *Library) PacketsLost() uint64 { return uint64(C.shim_packets_lost(l.shim)) }
