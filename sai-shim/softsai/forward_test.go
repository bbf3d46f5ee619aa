// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// fabric is a router in the test's namespace: a port in, and four equal paths out.
type fabric struct {
	t    *testing.T
	wire *wire
	in   int         // the other end of the port in
	path map[int]int // the other end of a port out: its path
}

const paths = 4

func newFabric(t *testing.T) *fabric {
	t.Helper()
	return newFabricAt(t, 0)
}

// newFabricAt is newFabric with ports whose ifindexes are first and those after it; 0: any.
func newFabricAt(t *testing.T, first int) *fabric {
	t.Helper()
	enterNamespace(t)
	port := func(name, far string, n int) {
		options := ""
		if first != 0 {
			options = fmt.Sprint("index ", first+n)
		}
		linkAs(t, name, options, far)
	}
	for name, value := range map[string]int{
		"ipv6/conf/all/forwarding": 1, "ipv4/ip_forward": 1,
		"ipv4/conf/all/rp_filter": 0, "ipv4/conf/default/rp_filter": 0,
		// Another default than the kernel's, so that it is seen to come back.
		"ipv6/fib_multipath_hash_policy": 1, "ipv4/fib_multipath_hash_policy": 1, "ipv4/fib_multipath_hash_fields": 0x33,
	} {
		sysctl(t, name, value)
	}
	port("in", "source", 0)
	v6, v4 := "route add 2001:db8:2::/48", "route add 10.2.0.0/16"
	for i := range paths {
		port(fmt.Sprint("out", i), fmt.Sprint("sink", i), 1+i)
		v6 += fmt.Sprintf(" nexthop via fe80::%d dev out%d", i+1, i)
		v4 += fmt.Sprintf(" nexthop dev out%d", i)
	}
	ip(t, v6, v4)
	f := &fabric{t: t, wire: openWire(t), in: ifindex(t, "source"), path: map[int]int{}}
	for i := range paths {
		f.path[ifindex(t, fmt.Sprint("sink", i))] = i
	}
	return f
}

// forward sends each frame until it came out, and returns where and as what.
// key distinguishes frames, and is the same before and after the router.
func (f *fabric) forward(frames [][]byte, key func([]byte) uint32) (out [][]byte, path []int) {
	f.t.Helper()
	out, path = make([][]byte, len(frames)), make([]int, len(frames))
	index := map[uint32]int{}
	for i, frame := range frames {
		index[key(frame)] = i
	}
	deadline := time.Now().Add(patience)
	for missing := len(frames); missing > 0; {
		if time.Now().After(deadline) {
			f.t.Fatalf("%d of %d frames did not come out", missing, len(frames))
		}
		for i, frame := range frames {
			if out[i] == nil {
				f.wire.send(f.in, frame)
			}
		}
		for missing > 0 {
			from, frame, ok := f.wire.receive()
			if !ok {
				break
			}
			p, isPath := f.path[from]
			i, known := index[key(frame)]
			if !isPath || !known || !isRoCE(frame) {
				continue
			}
			if out[i] != nil && path[i] != p {
				f.t.Fatalf("the same packet came out of paths %d and %d", path[i], p)
			}
			if out[i] == nil {
				out[i], path[i] = frame, p
				missing--
			}
		}
	}
	return out, path
}

func isRoCE(frame []byte) bool {
	off := udpAt(frame)
	return off > 0 && len(frame) >= off+udpLen+bthLen && binary.BigEndian.Uint16(frame[off+2:]) == rocePort
}

// udpAt is the offset of UDP in an untagged frame without extensions or options.
func udpAt(frame []byte) int {
	switch {
	case len(frame) > 60 && binary.BigEndian.Uint16(frame[12:]) == 0x86dd && frame[20] == protoUDP:
		return ethLen + ipv6Len
	case len(frame) > 40 && binary.BigEndian.Uint16(frame[12:]) == 0x0800 && frame[23] == protoUDP:
		return ethLen + 20
	}
	return -1
}

func qpOf(frame []byte) uint32 {
	if off := udpAt(frame); off > 0 && len(frame) >= off+udpLen+bthLen {
		return binary.BigEndian.Uint32(frame[off+12:]) & 0xffffff
	}
	return ^uint32(0)
}

var (
	hostA = netip.MustParseAddr("2001:db8:1::1").As16()
	hostB = netip.MustParseAddr("2001:db8:2::1").As16()
)

// queuePairs are frames of one host pair, with one source port.
func queuePairs(n int) (frames [][]byte) {
	for i := range n {
		f := roceFrame(hostA, hostB, 0xc000, uint32(0x100+i))
		copy(f, []byte{2, 0, 0, 0, 0, 1}) // to the router
		frames = append(frames, f)
	}
	return frames
}

func queuePairs4(n int) (frames [][]byte) {
	for i := range n {
		b := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}
		udp := appendUDP(nil, 0xc000, rocePort, appendBTH(nil, 4, uint32(0x100+i), make([]byte, 16)))
		frames = append(frames, appendIPv4(b, [4]byte{10, 1, 0, 1}, [4]byte{10, 2, 0, 1}, nil, 0, udp))
	}
	return frames
}

// spread is how many frames took the busiest path, over the mean.
func spread(path []int) float64 {
	var count [paths]int
	worst := 0
	for _, p := range path {
		count[p]++
		worst = max(worst, count[p])
	}
	return float64(worst) * paths / float64(len(path))
}

// wantForwarded checks that only addresses of the link and the hop limit changed.
func wantForwarded(t *testing.T, sent, got []byte, labelToo bool) {
	t.Helper()
	want := bytes.Clone(sent)
	copy(want, got[:12])
	if sent[12] == 0x86 {
		want[21]--
		if labelToo {
			copy(want[15:18], got[15:18])
		}
	} else {
		want[22]--
		want[24], want[25] = 0, 0
		binary.BigEndian.PutUint16(want[24:], ^onesSum(want[14:34]))
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("sent %x\n got %x\nwant %x", sent, got, want)
	}
}

const (
	hashList = "NATIVE_HASH_FIELD_LIST"

	fiveTuple = "SRC_IP,DST_IP,IP_PROTOCOL,L4_SRC_PORT,L4_DST_PORT"
	withLabel = fiveTuple + ",IPV6_FLOW_LABEL"
	withQP    = fiveTuple + ",RDMA_BTH_DEST_QP"
)

const allPorts = "SLUICE_PORTS=in+out0+out1+out2+out3"

// settings are the kernel's multipath hash.
func settings(t *testing.T) (s [4]int) {
	t.Helper()
	for i, name := range []string{"ipv4/fib_multipath_hash_policy", "ipv4/fib_multipath_hash_fields", "ipv6/fib_multipath_hash_policy", "ipv6/fib_multipath_hash_fields"} {
		s[i] = readSysctl(t, name)
	}
	return s
}

// Computed labels spread the queue pairs of one host pair once the hash has the label.
//
//conformance:draft-hu/write draft-hu/hash-label
func TestForwardByLabel(t *testing.T) {
	f := newFabric(t)
	before := settings(t)
	d := startDriver(t)
	d.do("switch " + allPorts)
	frames := queuePairs(64)
	if _, path := f.forward(frames, qpOf); spread(path) != paths {
		t.Errorf("without a label max ÷ mean is %.2f, want %d", spread(path), paths)
	}
	d.do("set hash %s %s=%s", defaultHash, hashList, withLabel)
	table := newTable(t, d, "in")
	entry := d.id("create entry TABLE_ID=%s %s %s=%d", table, fieldRoCE, compute, 0)
	out, path := f.forward(frames, qpOf)
	if spread(path) > 2 {
		t.Errorf("with labels max ÷ mean is %.2f, want at most 2", spread(path))
	}
	for i := range out {
		wantForwarded(t, frames[i], out[i], true)
	}

	// Everything taken away again: forwarding and settings are as before.
	d.do("remove entry %s", entry)
	d.do("set port %s INGRESS_ACL=0", portID(t, "in"))
	d.do("remove table %s", table)
	d.do("set hash %s %s=%s", defaultHash, hashList, fiveTuple)
	if got := settings(t); got != before {
		t.Errorf("multipath settings %v, want %v as before", got, before)
	}
	if _, path := f.forward(frames, qpOf); spread(path) != paths {
		t.Errorf("afterwards max ÷ mean is %.2f, want %d", spread(path), paths)
	}
	d.do("remove-switch")
	wantNoTrace(t)
}

// The queue pair in the hash spreads them, and leaves the packets alone.
func TestForwardByQueuePair(t *testing.T) {
	const (
		hashIPv6     = "ECMP_HASH_IPV6"
		hashIPv6RDMA = "ECMP_HASH_IPV6_RDMA"
	)
	for _, test := range []struct {
		name string
		set  func(d *driver) (undo func())
		v4   bool
	}{
		{"native field of the default hash", func(d *driver) func() {
			d.do("set hash %s %s=%s", defaultHash, hashList, withQP)
			return func() { d.do("set hash %s %s=%s", defaultHash, hashList, fiveTuple) }
		}, true},
		{"native field of the RDMA hash", func(d *driver) func() {
			hash := d.id("create hash %s=%s", hashList, withQP)
			d.do("set switch "+switchID+" %s=%s", hashIPv6RDMA, hash)
			return func() {
				d.do("set switch "+switchID+" %s=0", hashIPv6RDMA)
				d.do("remove hash %s", hash)
			}
		}, false},
		{"UDF", func(d *driver) func() {
			match := d.id("create udf-match L4_DST_PORT_TYPE=4791")
			group := d.id("create udf-group TYPE=HASH LENGTH=4")
			udf := d.id("create udf MATCH_ID=%s GROUP_ID=%s BASE=L4 OFFSET=12 HASH_MASK=0,255,255,255", match, group)
			hash := d.id("create hash %s=%s UDF_GROUP_LIST=%s", hashList, fiveTuple, group)
			d.do("set switch "+switchID+" %s=%s", hashIPv6, hash)
			return func() {
				d.do("set switch "+switchID+" %s=0", hashIPv6)
				d.do("remove hash %s", hash)
				d.do("remove udf %s", udf)
				d.do("remove udf-group %s", group)
				d.do("remove udf-match %s", match)
			}
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFabric(t)
			before := settings(t)
			d := startDriver(t)
			d.do("switch " + allPorts)
			undo := test.set(d)
			kinds := [][][]byte{queuePairs(64)}
			if test.v4 {
				kinds = append(kinds, queuePairs4(64))
			}
			for _, frames := range kinds {
				out, path := f.forward(frames, qpOf)
				if spread(path) > 2 {
					t.Errorf("max ÷ mean is %.2f, want at most 2", spread(path))
				}
				for i := range out {
					wantForwarded(t, frames[i], out[i], false)
				}
			}
			undo()
			if got := settings(t); got != before {
				t.Errorf("multipath settings %v, want %v as before", got, before)
			}
			if _, path := f.forward(kinds[0], qpOf); spread(path) != paths {
				t.Errorf("afterwards max ÷ mean is %.2f, want %d", spread(path), paths)
			}
			d.do("remove-switch")
			wantNoTrace(t)
		})
	}
}
