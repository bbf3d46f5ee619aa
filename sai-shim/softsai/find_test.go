// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Offsets into an untagged frame of RoCEv2 directly after IPv6.
const (
	ipAt       = ethLen
	srcAt      = ipAt + 8
	dstAt      = ipAt + 24
	udpHeadAt  = ipAt + ipv6Len
	bthAt      = udpHeadAt + udpLen
	qpAt       = bthAt + 5
	syndromeAt = bthAt + bthLen
)

// An entry of a flow, found among others of its shape, matches packets with
// exactly its fields: each bit of these counts, and no other does.
func TestEachBitCounts(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newUDFTable(t, d, "port0")
	program := startRunner(t, "port0")
	frame := roceFrame(hostA, hostB, 0xc000, 0x123456)
	for label, qp := range []uint32{0x123456, 0x654321} {
		d.do("create entry TABLE_ID=%s PRIORITY=5 %s %s %s %s=%d", table, fieldIP("SRC_IPV6", hostA, 128), fieldIP("DST_IPV6", hostB, 128), fieldQP(qp), setLabel, 1+label)
	}
	counts := func(octet int) bool {
		return octet >= srcAt && octet < udpHeadAt || octet >= qpAt && octet < qpAt+3
	}
	free := []int{ipAt + 1, udpHeadAt, udpHeadAt + 1, bthAt + 2, bthAt + 3, bthAt + 4, bthAt + 8, bthAt + 9, bthAt + 10, bthAt + 11}
	for octet := range frame {
		if !counts(octet) && !slices.Contains(free, octet) {
			continue
		}
		for bit := range 8 {
			if octet == ipAt+1 && bit < 4 {
				continue // of the label that is written
			}
			other := bytes.Clone(frame)
			other[octet] ^= 1 << bit
			want := 1
			if counts(octet) {
				want = 0
			}
			if _, out := program.run(other); labelOf(out) != want {
				t.Errorf("bit %d of octet %d is other: label %d, want %d", bit, octet, labelOf(out), want)
			}
		}
	}
}

// seedOf is the secret by which the entries of a port's switch are hashed.
func seedOf(t *testing.T, port string) (words []uint64) {
	t.Helper()
	out, err := exec.Command(program(t, "seed"), port).Output()
	if err != nil {
		t.Fatal("seed:", err)
	}
	for _, line := range strings.Fields(string(out)) {
		word, err := strconv.ParseUint(line, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, word)
	}
	return words
}

// Two matches that have one digest: the second is refused, and the first one's
// entry is not taken for it.
func TestOneDigest(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newUDFTable(t, d, "port0")
	program := startRunner(t, "port0")

	// The address' first half makes a product, of which this makes one factor 0.
	first := hostA
	binary.LittleEndian.PutUint32(first[:], -uint32(seedOf(t, "port0")[0]))
	second := first
	second[7] ^= 0x55
	match := func(src [16]byte, qp uint32) string {
		return fmt.Sprintf("%s %s %s", fieldIP("SRC_IPV6", src, 128), fieldIP("DST_IPV6", hostB, 128), fieldQP(qp))
	}
	entry := d.id("create entry TABLE_ID=%s %s %s=1", table, match(first, 7), setLabel)
	d.do("create entry TABLE_ID=%s %s %s=9", table, match(first, 8), setLabel) // so that the shape has several
	check := func(wantFirst, wantSecond int) {
		t.Helper()
		for _, test := range []struct {
			src  [16]byte
			want int
		}{{first, wantFirst}, {second, wantSecond}} {
			if _, out := program.run(roceFrame(test.src, hostB, 0xc000, 7)); labelOf(out) != test.want {
				t.Errorf("source %x: label %d, want %d", test.src, labelOf(out), test.want)
			}
		}
	}
	check(1, 0)
	if status, _ := d.try("create entry TABLE_ID=%s %s %s=2", table, match(second, 7), setLabel); status != statusTableFull {
		t.Fatalf("the second of a digest: status %d, want %d", status, statusTableFull)
	}
	if status, _ := d.try("create entry TABLE_ID=%s %s %s=2", table, match(first, 7), setLabel); status != statusItemAlreadyExists {
		t.Errorf("the same match: status %d, want %d", status, statusItemAlreadyExists)
	}
	check(1, 0)
	d.do("remove entry %s", entry)
	check(0, 0)
	d.do("create entry TABLE_ID=%s %s %s=2", table, match(second, 7), setLabel)
	check(0, 2)
}

// A packet that is parsed in one go matches what the same packet matches after
// a VLAN tag, where it is parsed in general.
func TestPlainIsTheSame(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	link(t, "port1", "far1")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0+port1")
	ports := []string{portID(t, "port0"), portID(t, "port1")}
	table := newUDFTable(t, d, "port0")
	program := startRunner(t, "port0")
	r := rand.New(rand.NewPCG(7, 7))
	changed, total := 0, 0
	for range 40 {
		var frames [][]byte
		for range 100 {
			frames = append(frames, anyPlainFrame(r))
		}
		var entries []string
		for n := range 8 {
			status, words := d.try("create entry TABLE_ID=%s PRIORITY=%d %s ACTION_SET_DSCP=%d %s=%d",
				table, r.IntN(8), anyMatch(r, pick(r, frames...), ports), 10+n, setLabel, 100+n)
			if status == 0 { // not another one's match
				entries = append(entries, words[0])
			}
		}
		for _, frame := range frames {
			const tag = 4
			tagged := slices.Insert(bytes.Clone(frame), 12, 0x81, 0, 0, 7)
			verdict, got := program.run(frame)
			verdictTagged, want := program.run(tagged)
			if want = slices.Delete(want, 12, 12+tag); verdict != verdictTagged || !bytes.Equal(got, want) {
				t.Fatalf("sent %x\n got %x\nwant %x, as after a tag", frame, got, want)
			}
			total++
			if !bytes.Equal(got, frame) {
				changed++
			}
		}
		for _, id := range entries {
			d.do("remove entry %s", id)
		}
	}
	if changed < total/10 || changed > total*9/10 {
		t.Errorf("%d of %d frames matched: the test tests too little", changed, total)
	}
}

// anyPlainFrame is RoCEv2 directly after IPv6, with some fields of few values, so
// that packets share them, and now and then spoiled.
func anyPlainFrame(r *rand.Rand) []byte {
	bth := appendBTH(nil, pick(r, opcodes...), pick[uint32](r, 1, 2, 0x10001), octets(r, pick(r, 0, 4, 8, 28, 30)))
	bth[4] = pick[byte](r, 0, 0x40, 0x80)
	if len(bth) > bthLen+icrcLen {
		bth[bthLen] = pick[byte](r, 0, 0x1f, 0x60)
	}
	udp := appendUDP(nil, pick[uint16](r, 0xc000, 0xc001), rocePort, bth)
	b := append(octets(r, 12), 0x86, 0xdd)
	b = appendIPv6(b, pick[uint32](r, 0, 0x12345, 0x2e00001), pick(r, hostA, hostB), pick(r, hostA, hostB), protoUDP, udp)
	b = append(b, make([]byte, pick(r, 0, 0, 0, 6))...)
	switch r.IntN(6) {
	case 0:
		b[ipAt+r.IntN(min(len(b)-ipAt, 80))] ^= 1 << r.IntN(8)
	case 1:
		b = b[:ipAt+ipv6Len+r.IntN(len(b)-ipAt-ipv6Len)]
	}
	return b
}

// anyMatch is some fields with the values that the frame has, under a mask, and
// maybe one of the ports.
func anyMatch(r *rand.Rand, frame []byte, ports []string) string {
	b := append(bytes.Clone(frame), make([]byte, 80)...)
	be := binary.BigEndian
	fields := []string{
		"FIELD_IN_PORT=" + pick(r, ports...),
		fieldIP("SRC_IPV6", [16]byte(b[srcAt:]), pick(r, 128, 64, 33)),
		fieldIP("DST_IPV6", [16]byte(b[dstAt:]), pick(r, 128, 64, 33)),
		fmt.Sprintf("FIELD_L4_SRC_PORT=%d", be.Uint16(b[udpHeadAt:])),
		fmt.Sprintf("FIELD_L4_DST_PORT=%d", be.Uint16(b[udpHeadAt+2:])),
		fmt.Sprintf("FIELD_IPV6_NEXT_HEADER=%d", b[ipAt+6]),
		fmt.Sprintf("FIELD_DSCP=%d/0x3f", be.Uint16(b[ipAt:])>>6&0x3f),
		fmt.Sprintf("FIELD_IPV6_FLOW_LABEL=%d/%#x", be.Uint32(b[ipAt:])&0xfffff, pick(r, 0xfffff, 0xff)),
		fmt.Sprintf("FIELD_BTH_OPCODE=%d/%#x", b[bthAt], pick(r, 0xff, 0xe0)),
		fmt.Sprintf("FIELD_AETH_SYNDROME=%d", b[syndromeAt]),
		fmt.Sprintf("USER_DEFINED_FIELD_GROUP_MIN=%08x/%08x", be.Uint32(b[bthAt+4:]), pick[uint32](r, 0xffffff, 0xffffffff, 0xc0000000)),
	}
	r.Shuffle(len(fields), func(i, k int) { fields[i], fields[k] = fields[k], fields[i] })
	return strings.Join(fields[:1+r.IntN(3)], " ")
}
