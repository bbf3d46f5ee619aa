// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// A hidden hash is one of a switch: the model under test sees only what it chooses.
type hidden struct {
	name   string
	n      int
	choose func(*Tuple) int
}

func (h hidden) String() string { return h.name }

// crcOf is a CRC of any width, polynomial, seed and final inversion.
func crcOf(width int, polynomial, seed, invert uint32) func(*Tuple) uint32 {
	return func(t *Tuple) uint32 {
		var buf [fieldsLen]byte
		crc := seed
		for _, octet := range appendFields(buf[:0], t, true) {
			crc ^= uint32(octet) << (width - 8)
			for range 8 {
				top := crc >> (width - 1) & 1
				crc = crc<<1&(1<<width-1) ^ polynomial*top
			}
		}
		return crc ^ invert
	}
}

// fold is the exclusive or of all octets, rotated a little by their place.
func fold(seed uint32) func(*Tuple) uint32 {
	return func(t *Tuple) uint32 {
		var buf [fieldsLen]byte
		sum := seed
		for i, octet := range appendFields(buf[:0], t, true) {
			sum ^= bits.RotateLeft32(uint32(octet), i%3)
		}
		return sum
	}
}

func flowOf(random *rand.Rand) Tuple {
	src, dst := netip.MustParseAddr("2001:db8:0:1::").As16(), netip.MustParseAddr("2001:db8:0:2::").As16()
	binary.BigEndian.PutUint16(src[14:], uint16(random.Uint32()))
	binary.BigEndian.PutUint32(dst[12:], random.Uint32())
	return Tuple{netip.AddrFrom16(src), netip.AddrFrom16(dst), 17, uint16(random.Uint32()) | 0xc000, 4791, random.Uint32N(1 << 20)}
}

// learn shows the model 21 probes of one flow, and then of each flow one observation, one
// move to another label that it predicts, and what came of it.
func learn(m *Linear, h hidden, flows int) (right, known int) {
	random := rand.New(rand.NewPCG(4, 2))
	first := flowOf(random)
	for i := range 21 {
		probe := first
		if i > 0 {
			probe.FlowLabel ^= 1 << (i - 1)
		}
		m.Observe(&probe, h.choose(&probe))
	}
	for range flows {
		f := flowOf(random)
		m.Observe(&f, h.choose(&f))
		f.FlowLabel = random.Uint32N(1 << 20)
		took := h.choose(&f)
		if got, ok := m.Predict(&f); ok {
			known++
			if got == took {
				right++
			}
		}
		m.Observe(&f, took)
	}
	return right, known
}

func TestLinearLearnsEveryLinearHash(t *testing.T) {
	mod := func(hash func(*Tuple) uint32, n int) func(*Tuple) int {
		return func(t *Tuple) int { return int(hash(t) % uint32(n)) }
	}
	upper := func(hash func(*Tuple) uint32, shift int) func(*Tuple) int {
		return func(t *Tuple) int { return int(hash(t) >> shift) }
	}
	for _, h := range []hidden{
		{"CRC-32 mod 16", 16, mod(crcOf(32, 0x04c11db7, 0xdeadbeef, 0xffffffff), 16)},
		{"CRC-32C, upper bits", 64, upper(crcOf(32, 0x1edc6f41, 0x12345678, 0), 26)},
		{"CRC-16-CCITT mod 8", 8, mod(crcOf(16, 0x1021, 0xbeef, 0), 8)},
		{"CRC-16 mod 4", 4, mod(crcOf(16, 0x8005, 0x77, 0), 4)},
		{"CRC-32 mod 2", 2, mod(crcOf(32, 0x04c11db7, 3, 0), 2)},
		{"XOR mod 32", 32, mod(fold(0x5a5a5a5a), 32)},
		{"CRC32 of this package", 16, func(t *Tuple) int { return CRC32{}.Path(*t, true, 16) }},
	} {
		m := NewLinear(h.n)
		right, known := learn(m, h, 500)
		if known != 500 || right < 495 {
			t.Errorf("%v: of 500 moves %d predicted, %d right", h, known, right)
		}
		if !m.Learned() || m.GaveUp() || m.Score().Wrong() || m.Score().Right() < 0.99 || !m.HashesLabel() {
			t.Errorf("%v: learned %v, gave up %v, right %.2f", h, m.Learned(), m.GaveUp(), m.Score().Right())
		}
		// A flow that was never seen, whose address differs in bits that were.
		random := rand.New(rand.NewPCG(9, 9))
		for range 100 {
			f := flowOf(random)
			if got, ok := m.Predict(&f); !ok || got != h.choose(&f) {
				t.Fatalf("%v: a new flow: member %d (known %v), want %d", h, got, ok, h.choose(&f))
			}
		}
	}
}

func TestLinearNoticesOtherHashes(t *testing.T) {
	crc := crcOf(32, 0x04c11db7, 0xdeadbeef, 0)
	order := rand.New(rand.NewPCG(8, 8)).Perm(16)
	for _, h := range []hidden{
		{"CRC-32 mod 12", 12, func(t *Tuple) int { return int(crc(t) % 12) }},
		{"permuted buckets", 16, func(t *Tuple) int { return order[crc(t)%16] }},
		{"siphash", 16, func(t *Tuple) int { return Linux{Seed: 3}.Path(*t, true, 16) }},
		{"siphash over 2", 2, func(t *Tuple) int { return Linux{Seed: 3}.Path(*t, true, 2) }},
	} {
		m := NewLinear(h.n)
		learn(m, h, 500)
		f := flowOf(rand.New(rand.NewPCG(1, 1)))
		if _, known := m.Predict(&f); known || !m.GaveUp() || !m.Score().Wrong() || m.Learned() {
			t.Errorf("%v: predicts %v, gave up %v, right %.2f", h, known, m.GaveUp(), m.Score().Right())
		}
		m.Reset()
		if m.GaveUp() || m.Score().Checked() != 0 {
			t.Errorf("%v: after a reset it gave up: %v, %d checked", h, m.GaveUp(), m.Score().Checked())
		}
	}
}

// A few observations that are wrong make it begin again, not give up.
func TestLinearOutlivesWrongObservations(t *testing.T) {
	h := hidden{"CRC-32 mod 8", 8, func(t *Tuple) int { return CRC32{}.Path(*t, true, 8) }}
	m := NewLinear(8)
	f := flowOf(rand.New(rand.NewPCG(6, 6)))
	for i := range 5 {
		f.FlowLabel ^= 1 << i
		m.Observe(&f, (h.choose(&f)+1)%8)
	}
	if right, known := learn(m, h, 500); right < 450 || m.GaveUp() || !m.Learned() {
		t.Errorf("of 500 moves %d predicted, %d right; gave up: %v", known, right, m.GaveUp())
	}
}

// A switch that does not hash the label: known after 21 probes.
func TestLinearNoticesThatTheLabelIsNotHashed(t *testing.T) {
	h := hidden{"5-tuple", 8, func(t *Tuple) int { return CRC32{}.Path(*t, false, 8) }}
	m := NewLinear(8)
	if !m.HashesLabel() {
		t.Error("knows it before it saw anything")
	}
	learn(m, h, 20)
	if m.HashesLabel() {
		t.Error("not noticed")
	}
}

func TestObservedKnowsOnlyWhatItSaw(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	m := NewObserved(2)
	a, b, c := flowOf(random), flowOf(random), flowOf(random)
	m.Observe(&a, 1)
	m.Observe(&b, 2)
	m.Observe(&b, 3)
	if got, known := m.Predict(&b); got != 3 || !known || m.Score().Checked() != 1 || m.Score().Right() != 0 {
		t.Errorf("member %d (known %v), %d checked, right %.1f", got, known, m.Score().Checked(), m.Score().Right())
	}
	m.Observe(&c, 0)
	if _, known := m.Predict(&a); known {
		t.Error("the oldest of three is known, with room for two")
	}
	if _, known := m.Predict(&c); !known {
		t.Error("the newest is not known")
	}
}

// The seed of the kernel changes behind its model.
func TestScoreNoticesAnotherSeed(t *testing.T) {
	g, err := Equal(8)
	if err != nil {
		t.Fatal(err)
	}
	m, err := OfKernel(Kernel{Seed: 1, Policy: PolicyFields, Fields: FiveTuple | FieldLabel}, g)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for _, seed := range []uint32{1, 2, 1} {
		for range 2 * scoreLen {
			f := flowOf(random)
			m.Observe(&f, Linux{Seed: seed}.Path(f, true, 8))
		}
		if got := m.Score().Wrong(); got != (seed == 2) {
			t.Errorf("seed %d: wrong %v, right %.2f of %d", seed, got, m.Score().Right(), m.Score().Checked())
		}
	}
}

func TestModelsDoNotAllocate(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 7))
	hash, err := OfHash(CRC32{}, 16)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Equal(16)
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := OfKernel(Kernel{Seed: 1, Policy: PolicyL3}, g)
	if err != nil {
		t.Fatal(err)
	}
	linear := NewLinear(16)
	learn(linear, hidden{"", 16, func(t *Tuple) int { return CRC32{}.Path(*t, true, 16) }}, 100)
	for _, m := range []Model{hash, kernel, linear, NewObserved(10)} {
		f := flowOf(random)
		if got := testing.AllocsPerRun(100, func() { f.FlowLabel++; m.Predict(&f) }); got != 0 {
			t.Errorf("%v: %v allocations", m, got)
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	g, err := Equal(16)
	if err != nil {
		b.Fatal(err)
	}
	kernel, err := OfKernel(Kernel{Seed: 1, Policy: PolicyFields, Fields: FiveTuple | FieldLabel}, g)
	if err != nil {
		b.Fatal(err)
	}
	linear := NewLinear(16)
	learn(linear, hidden{"", 16, func(t *Tuple) int { return CRC32{}.Path(*t, true, 16) }}, 500)
	for _, m := range []Model{kernel, linear} {
		b.Run(m.String(), func(b *testing.B) {
			f := flowOf(rand.New(rand.NewPCG(5, 8)))
			for b.Loop() {
				f.FlowLabel++
				m.Predict(&f)
			}
		})
	}
}
