// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/switch/engine"
)

// big returns numbers in the order of the network: 2 octets each.
func big(numbers ...uint16) (b []byte) {
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	return b
}

// streamTemplate is an IPFIX message with a template: a time, and the octets that wait in the queue
// with label 5.
func streamTemplate() string {
	set := append(big(2, 4+4+4+8, 256, 2, 325, 8), big(5|1<<15, 8, 21, 24)...)
	return string(append(append(big(10, uint16(16+len(set))), make([]byte, 12)...), set...))
}

// streamed is a datagram of the stream with such a record.
func streamedDatagram(octets uint64) []byte {
	set := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(big(256, 4+16), 1), octets)
	message := append(append(big(10, uint16(16+len(set))), make([]byte, 12)...), set...)
	b := binary.NativeEndian.AppendUint32(nil, uint32(20+len(message)))
	return append(append(b, make([]byte, 16)...), message...)
}

// TestAStreamReplacesPolls: where the kernel has High Frequency Telemetry its rows are written; once it
// streams all queues syncd polls none for Sluice, and polls again when the stream ends.
func TestAStreamReplacesPolls(t *testing.T) {
	p := newPolled(t)
	p.waits.Store(5000)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(pair[1]) }()
	d := must(New(t.Context(), p.databases, Options{Stream: func() (int, error) { return pair[0], nil }}))
	defer func() { _ = d.Close() }()
	p.driver, p.engine = d, p.place.engine(d)
	policy := polls(10*time.Millisecond, "Ethernet0:1")
	p.reconcile(p.engine, policy)
	p.group(1, 10*time.Millisecond)
	rows := must(p.config.Read(t.Context(), tableProfile, tableStream))
	if len(rows) != 2 || rows[0].Fields["object_names@"] != "Ethernet0|1" || rows[0].Fields["object_counters@"] != "CURR_OCCUPANCY_BYTES,PACKETS,BYTES,DROPPED_PACKETS" ||
		rows[1].Fields["poll_interval"] != "10000" || rows[1].Fields["stream_state"] != "enabled" {
		t.Errorf("%v", rows)
	}
	r := d.Depths()
	p.depths(r, 1, func(d Depth) bool { return d.Err == nil && d.Octets == 5000 })
	p.put(tableSession, nameStream, map[string]string{"stream_status": "enabled", "session_type": "ipfix", "session_config": streamTemplate(), "object_names": "Ethernet0|1", "object_ids": "5"})
	p.depths(r, 1, func(d Depth) bool {
		_ = unix.Send(pair[1], streamedDatagram(8000), unix.MSG_DONTWAIT)
		return d.Octets == 8000
	})
	p.drifts(policy)
	p.until("syncd polls no queue", func() bool { return len(p.syncd.Rows()) == 0 })
	if o := p.reconcile(p.engine, policy); o.Choices[engine.NeedThreshold].Method != engine.Sampled {
		t.Errorf("%+v", o.Choices[engine.NeedThreshold])
	}
	// Nothing comes, and what came last gets old.
	p.depths(r, 1, func(d Depth) bool { return d.Octets == 5000 })
	p.drifts(policy)
	p.group(1, 10*time.Millisecond)

	clear(p.ledger.rows) // the next process knows of no row
	p.reconcile(p.place.engine(p.place.driver()), engine.Policy{})
	p.until("no row is left", func() bool { return len(p.syncd.Rows()) == 0 })
	if left := must(p.config.Read(t.Context(), tableProfile, tableStream)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestAnotherOwnersStreamStays: a profile of the name that Sluice did not write is left alone, and syncd
// polls.
func TestAnotherOwnersStreamStays(t *testing.T) {
	p := newPolled(t)
	p.set(tableProfile, nameProfile, "stream_state", "disabled", "poll_interval", "7")
	d := must(New(t.Context(), p.databases, Options{Stream: func() (int, error) { return -1, unix.ENOENT }}))
	defer func() { _ = d.Close() }()
	e := p.place.engine(d)
	o := p.reconcile(e, polls(10*time.Millisecond, "Ethernet0:1"))
	if !slices.ContainsFunc(o.Problems, func(s string) bool {
		return s == "HIGH_FREQUENCY_TELEMETRY_PROFILE|sluice: the switch refuses: there is a row HIGH_FREQUENCY_TELEMETRY_PROFILE|sluice that Sluice did not write; remove it to use this method"
	}) {
		t.Errorf("%q", o.Problems)
	}
	p.group(1, 10*time.Millisecond)
	p.reconcile(e, engine.Policy{})
	if left := must(p.config.Read(t.Context(), tableProfile, tableStream)); len(left) != 1 || left[0].Fields["poll_interval"] != "7" {
		t.Errorf("%v", left)
	}
}
