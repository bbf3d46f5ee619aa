// SPDX-License-Identifier: Apache-2.0

package hft

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// queueField is a counter of a queue: the label of the object, and the number of the counter.
type queueField struct{ label, stat uint16 }

// ipfix is an IPFIX message with one set.
func ipfix(id uint16, body []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, ipfixVersion)
	b = binary.BigEndian.AppendUint16(b, uint16(ipfixHeader+setHeader+len(body)))
	b = append(b, make([]byte, 12)...) // export time, sequence number, domain
	b = binary.BigEndian.AppendUint16(b, id)
	b = binary.BigEndian.AppendUint16(b, uint16(setHeader+len(body)))
	return append(b, body...)
}

// templateOf is session_config: a template whose first field is observationTimeNanoseconds, as SAI libraries
// make it, and a counter of a port at last.
func templateOf(id uint16, fields ...queueField) []byte {
	b := binary.BigEndian.AppendUint16(nil, id)
	b = binary.BigEndian.AppendUint16(b, uint16(len(fields)+2))
	b = binary.BigEndian.AppendUint16(b, 325)
	b = binary.BigEndian.AppendUint16(b, 8)
	enterprise := func(label uint16, number uint32) {
		b = binary.BigEndian.AppendUint16(b, label|enterpriseBit)
		b = binary.BigEndian.AppendUint16(b, 8)
		b = binary.BigEndian.AppendUint32(b, number)
	}
	for _, f := range fields {
		enterprise(f.label, typeQueue<<16|uint32(f.stat))
	}
	enterprise(1, 1<<16)
	return ipfix(setTemplates, b)
}

// record is a record of that template.
func record(values ...uint64) (b []byte) {
	for _, v := range append(append([]uint64{1_700_000_000}, values...), 99) {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

// datagram is one of the group: the headers of netlink and of generic netlink before
// IPFIX messages, padded.
func datagram(messages ...[]byte) (b []byte) {
	body := []byte{}
	for _, m := range messages {
		body = append(body, m...)
	}
	b = binary.NativeEndian.AppendUint32(nil, uint32(netlinkHeader+genericHeader+len(body)))
	b = append(b, make([]byte, netlinkHeader-4)...)
	b = append(b, 0, 1, 0, 0)
	b = append(b, body...)
	return append(b, make([]byte, -len(b)&3)...)
}

// ofQueues is the template of the tests: two queues.
func ofQueues() string {
	return string(templateOf(256, queueField{3, 24}, queueField{3, 0}, queueField{3, 1}, queueField{3, 2}, queueField{7, 24}))
}

const (
	queueNames  = "Ethernet0|3,Ethernet4|1"
	queueLabels = "3,7"
)

// TestCountersOfQueuesAreRead: of records, messages and netlink messages in one datagram the last one
// counts; sets of other sessions and counters of other objects are skipped.
func TestCountersOfQueuesAreRead(t *testing.T) {
	s, err := NewSession(ofQueues(), queueNames, queueLabels)
	if err != nil {
		t.Fatal(err)
	}
	latest := map[string]Counters{}
	first := ipfix(256, append(record(5000, 10, 11, 12, 1), record(6000, 20, 21, 22, 2)...))
	other := ipfix(300, make([]byte, 24))
	b := append(datagram(first, other), datagram(ipfix(256, record(7000, 30, 31, 32, 3)))...)
	if err := s.parse(b, latest); err != nil {
		t.Fatal(err)
	}
	a, c := latest["Ethernet0|3"], latest["Ethernet4|1"]
	if a.Octets != 7000 || a.Packets != 30 || a.Left != 31 || a.Dropped != 32 || !a.Depth() || c.Octets != 3 || len(latest) != 2 {
		t.Errorf("%+v", latest)
	}
}

// TestSessionsThatAreWrong: each is refused with its reason, and so is a datagram that is cut.
func TestSessionsThatAreWrong(t *testing.T) {
	good := ofQueues()
	variable := []byte(good)
	binary.BigEndian.PutUint16(variable[ipfixHeader+setHeader+6:], variableLength)
	for want, tt := range map[error][3]string{
		errNames:          {good, "Ethernet0|3", queueLabels},
		strconv.ErrSyntax: {good, queueNames, "3,x"},
		errNoTemplate:     {"", queueNames, queueLabels},
		errShort:          {good[:len(good)-3], queueNames, queueLabels},
		errVersion:        {"\x00\x09" + good[2:], queueNames, queueLabels},
		errVariable:       {string(variable), queueNames, queueLabels},
		errTemplate:       {string(templateOf(5)), queueNames, queueLabels},
	} {
		if _, err := NewSession(tt[0], tt[1], tt[2]); !errors.Is(err, want) {
			t.Errorf("want %v: %v", want, err)
		}
	}
	s, err := NewSession(good, queueNames, queueLabels)
	if err != nil {
		t.Fatal(err)
	}
	whole := datagram(ipfix(256, record(1, 2, 3, 4, 5)))
	for _, n := range []int{netlinkHeader, netlinkHeader + genericHeader + 3, len(whole) - 8} {
		if err := s.parse(whole[:n], map[string]Counters{}); err == nil {
			t.Errorf("%d of %d octets are taken", n, len(whole))
		}
	}
}

// TestListenerKeepsTheLatest: counters come by the socket; those of a former session, and old ones, are gone.
func TestListenerKeepsTheLatest(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(pair[1]) }()
	l := &Listener{Open: func() (int, error) { return pair[0], nil }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	send := func(b []byte) {
		if err := unix.Send(pair[1], b, 0); err != nil {
			t.Fatal(err)
		}
	}
	send(datagram(ipfix(256, record(1, 2, 3, 4, 5)))) // before there is a session
	l.Begin(ofQueues(), queueNames, queueLabels)
	began := time.Now()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		send(datagram(ipfix(256, record(4000, 2, 3, 4, 5))))
		c, ok := l.Latest("Ethernet0|3", began)
		if ok && c.Octets == 4000 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v: %v", c, ok, l.Err())
		}
	}
	if _, ok := l.Latest("Ethernet0|3", time.Now().Add(time.Hour)); ok {
		t.Error("old counters count")
	}
	l.Begin(string(templateOf(257, queueField{1, 24})), "Ethernet8|0", "1")
	if _, ok := l.Latest("Ethernet0|3", began); ok {
		t.Error("counters of a former session count")
	}
	if l.Begin("x", "a", "1"); l.Err() == nil {
		t.Error("a template that is cut is taken")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// FuzzSession: neither templates nor messages of others end the process.
func FuzzSession(f *testing.F) {
	f.Add([]byte(ofQueues()), datagram(ipfix(256, record(1, 2, 3, 4, 5))))
	f.Fuzz(func(t *testing.T, config, message []byte) {
		s, err := NewSession(string(config), queueNames, queueLabels)
		if err != nil {
			return
		}
		latest := map[string]Counters{}
		_ = s.parse(message, latest)
		if len(latest) > 2 {
			t.Errorf("%d queues, of 2 that are named", len(latest))
		}
	})
}
