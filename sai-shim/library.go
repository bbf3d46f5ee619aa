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
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"sluice/sai-shim/saiattr"
)

// ObjectID is the id of an object on the switch. Null is that of a missing object. An id
// is the library's: it is valid until the object is removed, or the switch begins cold.
type ObjectID uint64

// Null is the id of a missing object.
const Null ObjectID = C.SAI_NULL_OBJECT_ID

// String is the id as SONiC writes it: "oid:0x…". The digits are hexadecimal, in lower
// case, without leading zeros.
func (id ObjectID) String() string {
	return string(strconv.AppendUint([]byte("oid:0x"), uint64(id), 16))
}

// ParseObjectID parses the text of [ObjectID.String]. The number after "oid:" may be in
// any base that Go's prefixes name; the error quotes s.
func ParseObjectID(s string) (ObjectID, error) {
	if len(s) > 4 && s[:4] == "oid:" {
		if v, err := strconv.ParseUint(s[4:], 0, 64); err == nil {
			return ObjectID(v), nil
		}
	}
	return Null, fmt.Errorf("%q is no object id: it is oid:0x and hexadecimal digits", s)
}

// Library is a handle of an open SAI library with its switch, for one goroutine. [Open] makes the
// first, [Library.Beside] others; the zero value is unusable. The package comment has the calls that
// are safe for other goroutines.
type Library struct {
	*library
	turns  Turns
	call   Call // the one that is being made, or gathered for
	token  int  // of the call, by the watcher
	turn   bool // the handle has one
	beside bool // the handle is of Beside
}

// library is a loaded library, which handles share. Its fields are fixed once the switch was created,
// but for those that are atomic and for noPackets, which the first handle has.
type library struct {
	shim    *C.struct_shim // nil: closed; read in a turn
	Switch  ObjectID       // Null before CreateSwitch
	watcher Watcher
	mapped  map[*saiattr.Attr]uint32 // ids of the extension, by the profile
	event   *os.File
	packets []C.struct_shim_packet
	count   [8]byte                                    // of the event
	fresh   int                                        // packets that were taken since their reader waited last
	rest    func(context.Context, time.Duration) error // rest; tests replace it

	// NoExtension makes CreateSwitch leave out the question for the extension: there are
	// libraries whose metadata end the process at an unknown attribute.
	NoExtension bool

	// Avoid are calls that read, as [Call.String] has them without an id, or names of calls
	// such as [Query]. They are left out, and answer NOT_SUPPORTED: there are libraries that
	// end the process at some.
	Avoid map[string]bool

	queueStats atomic.Pointer[[]QueueStat] // that the library has; nil: unknown yet
	ports      bulk                        // statistics of ports
	queues     bulk                        // of queues
	extension  int                         // version, 0 for none
	noPackets  error                       // why the library takes no callback for packets; nil: it did
}

// Keys of the profile that map the extension's attributes to a vendor's ids.
const (
	profileSetLabel     = "SLUICE_EXT_SET_IPV6_FLOW_LABEL"
	profileComputeLabel = "SLUICE_EXT_COMPUTE_IPV6_FLOW_LABEL"
)

// minVersion is SAI 1.12: since then sai_acl_capability_t has its present layout.
const minVersion = 11200

// Open loads the library at path, and initializes it with the profile's key-values. An
// error has the file and its fault in one line. w may be nil.
func Open(path string, profile map[string]string, w Watcher) (*Library, error) {
	if w == nil {
		w = unwatched{}
	}
	l := &Library{library: &library{rest: rest, mapped: map[*saiattr.Attr]uint32{}, watcher: w}, turns: noTurns{}}
	for key, a := range map[string]*saiattr.Attr{profileSetLabel: saiattr.ACLEntrySetLabel, profileComputeLabel: saiattr.ACLEntryCompute} {
		if text, ok := profile[key]; ok {
			v, err := strconv.ParseUint(text, 0, 32)
			if err != nil {
				return nil, fmt.Errorf("SAI profile: %s=%q is not an attribute id, decimal or with 0x", key, text)
			}
			l.mapped[a] = uint32(v)
		}
	}
	keys := slices.Sorted(maps.Keys(profile))
	// Zeroed: the garbage collector's write barrier reads the word that a pointer
	// overwrites.
	pairs := C.calloc(C.size_t(2*len(keys)+1), C.size_t(unsafe.Sizeof(uintptr(0))))
	defer C.free(pairs)
	list := unsafe.Slice((**C.char)(pairs), 2*len(keys)+1)
	for i, k := range keys {
		list[i], list[len(keys)+i] = C.CString(k), C.CString(profile[k])
		defer C.free(unsafe.Pointer(list[i]))
		defer C.free(unsafe.Pointer(list[len(keys)+i]))
	}
	file := C.CString(path)
	defer C.free(unsafe.Pointer(file))
	keepArenasSmall()
	l.enter("initialize", "api", Null)
	message := C.shim_open(file, &list[0], &list[len(keys)], C.int(len(keys)), &l.shim)
	if message != nil {
		l.leave(C.SAI_STATUS_FAILURE)
		defer C.free(unsafe.Pointer(message))
		return nil, errors.New(C.GoString(message))
	}
	l.leave(0)
	if v := l.Version(); v != 0 && v < minVersion {
		closeShim(l.shim)
		return nil, fmt.Errorf("%s speaks SAI %d.%d; 1.12 is the least that is needed", path, v/10000, v/100%100)
	}
	fd, err := unix.FcntlInt(uintptr(C.shim_packets_fd(l.shim)), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		closeShim(l.shim)
		return nil, os.NewSyscallError("fcntl", err)
	}
	l.event = os.NewFile(uintptr(fd), "packet event")
	return l, nil
}

// Version is the library's version of SAI: major * 10000 + minor * 100; 0 if it is
// unknown.
func (l *Library) Version() uint64 { return uint64(C.shim_version(l.shim)) }

// Close uninitializes and unloads the library, which keeps or drops the objects on the
// switch. Calls that have no turn must have returned, such as [Library.Packets]; other handles
// return [ErrClosed] from then on.
func (l *Library) Close() error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.end()
	err := l.event.Close()
	l.enter("uninitialize", "api", Null)
	closeShim(l.shim)
	l.leave(0)
	l.shim = nil
	return err
}

// Query is the name of the calls that ask for the library's abilities. They leave the
// switch as it is.
const Query = "ask"

// Handshake is how the text of the call begins that asks for the extension.
const Handshake = "get switch extension"

// CreateSwitch initializes the switch, or, with initialize false, connects to
// one that another process initialized.
func (l *Library) CreateSwitch(initialize bool) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.end()
	init := saiattr.SwitchInit.Is(initialize)
	l.gather(&init)
	var id C.uint64_t
	l.enter("create", saiattr.Switch.Name, Null)
	status := Status(C.shim_create_switch(l.shim, &id))
	l.call.ID = ObjectID(id)
	if err := l.checkAnswer(status, withoutID(status, l.call.ID)); err != nil {
		return err
	}
	l.end()
	l.Switch = ObjectID(id)
	l.noPackets = l.watchPackets()
	if l.NoExtension {
		return nil
	}
	if err := l.begin(); err != nil {
		return err
	}
	l.enter("get", saiattr.Switch.Name+" extension", l.Switch)
	l.extension = int(C.shim_extension(l.shim))
	l.leave(0)
	return nil
}

// ReloadPorts makes the ports those of a list in the form of the profile's key, which it
// had when it was opened, while all other objects stay. After an error the library may have
// some of them only, and is to be opened again.
func (l *Library) ReloadPorts(key, list string) error {
	if l.NoExtension {
		return &Error{Call: "set", Object: saiattr.Switch.Name, Status: C.SAI_STATUS_NOT_SUPPORTED}
	}
	k, v := C.CString(key), C.CString(list)
	defer C.free(unsafe.Pointer(k))
	defer C.free(unsafe.Pointer(v))
	if err := l.begin(); err != nil {
		return err
	}
	status := Status(C.shim_set_profile(l.shim, k, v))
	if l.end(); status != 0 {
		return fmt.Errorf("change %s of the SAI profile: %w", key, &Error{Status: status})
	}
	return l.Set(saiattr.Switch, l.Switch, saiattr.SwitchReloadPorts.Is(true))
}

// watchPackets gives the library the callback for packets to the CPU.
func (l *Library) watchPackets() error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.end()
	l.argue(saiattr.Value{Attr: saiattr.SwitchPackets})
	l.enter("set", saiattr.Switch.Name, l.Switch)
	return l.check(Status(C.shim_watch_packets(l.shim)))
}

// WatchesPackets returns nil where the library took the callback for packets to the CPU.
// Else it gives the library the callback again, and returns the error: packets stay away,
// and entries that copy or sample packets are without effect.
func (l *Library) WatchesPackets() error {
	if l.noPackets != nil {
		l.noPackets = l.watchPackets()
	}
	return l.noPackets
}

// RemoveSwitch removes the switch that CreateSwitch made: the library releases all
// resources of it (sai_remove_switch_fn, saiswitch.h).
func (l *Library) RemoveSwitch() error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.end()
	l.enter("remove", saiattr.Switch.Name, l.Switch)
	return l.check(Status(C.shim_remove_switch(l.shim)))
}

// PacketRoom is how many octets of a packet to the CPU are kept.
const PacketRoom = C.SHIM_PACKET_ROOM

// Packet is a packet to the CPU. Its memory belongs to the library: copy Data to keep it
// beyond the next [Library.Packets].
type Packet struct {
	Data   []byte   // Ethernet frame, maybe cut
	Length int      // octets that the library gave
	Port   ObjectID // that it came in by; Null: not said
	Egress ObjectID // port that it leaves by; Null: the library does not say
	Trap   ObjectID // user-defined trap; Null: none
	At     int64    // ns since 1970, of its arrival; 0: the library does not say
}

// Packets waits for packets, at most for timeout, fills in up to len(out), and returns
// how many: 0 after a timeout. Packets that follow a few others come together, within 4 ms.
// The data is valid until the next call. It returns the context's error when that ends first.
func (l *Library) Packets(ctx context.Context, out []Packet, timeout time.Duration) (int, error) {
	if len(out) == 0 {
		return 0, nil
	}
	if len(l.packets) < len(out) {
		l.packets = make([]C.struct_shim_packet, len(out))
	}
	for deadline := time.Now().Add(timeout); ; {
		if n := l.take(out); n > 0 {
			l.fresh += n
			return n, nil
		}
		if !time.Now().Before(deadline) {
			return 0, nil
		}
		few, err := l.fresh > 0 && l.fresh <= restMost, error(nil)
		if l.fresh = 0; few {
			err = l.rest(ctx, min(restTime, time.Until(deadline)))
		} else {
			err = l.wait(ctx, deadline)
		}
		if err != nil {
			return 0, err
		}
	}
}

// A wakeup of the reader takes more CPU time than a packet. So after a few packets those that follow
// within restTime come together, for which the ring has room: up to half a million a second, where the
// library lets them come together for as long, too. Beyond restMost the reader does not rest.
const (
	restTime = 4 * time.Millisecond
	restMost = 1024
)

// rest waits for a while, or returns the error of the context.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// take copies the packets in the ring.
func (l *Library) take(out []Packet) int {
	n := int(C.shim_packets_take(l.shim, &l.packets[0], C.int(len(out))))
	for i := range n {
		p := &l.packets[i]
		out[i] = Packet{
			Data:   unsafe.Slice((*byte)(&p.data[0]), int(p.captured)),
			Length: int(p.length), Port: ObjectID(p.port), Egress: ObjectID(p.egress), Trap: ObjectID(p.trap), At: int64(p.at),
		}
	}
	return n
}

// wait blocks until packets may wait, the deadline is over, or the context ends. The
// event may be a stale one, of packets that were taken before.
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

// PacketsLost is how many packets found the ring full, since Open. The ring holds 4096.
// It may be called beside the reader of [Library.Packets].
func (l *Library) PacketsLost() uint64 { return uint64(C.shim_packets_lost(l.shim)) }
