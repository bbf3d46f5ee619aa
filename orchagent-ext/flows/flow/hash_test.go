// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"
)

// newTestSecret is a secret that is the same in every run.
func newTestSecret(seed uint64) (s secret) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range s {
		s[i] = r.Uint64()
	}
	return s
}

// flips calls with each key that differs from k in one bit of one field.
func flips(k Key, call func(field string, bit int, other Key)) {
	fields := reflect.TypeFor[Key]()
	for i := range fields.NumField() {
		for bit := range int(fields.Field(i).Type.Size()) * 8 {
			other := k
			switch v := reflect.ValueOf(&other).Elem().Field(i); v.Kind() {
			case reflect.Array:
				octet := v.Index(bit / 8)
				octet.SetUint(octet.Uint() ^ 1<<(bit%8))
			default:
				v.SetUint(v.Uint() ^ 1<<bit)
			}
			call(fields.Field(i).Name, bit, other)
		}
	}
}

func TestEachBitIsHashed(t *testing.T) {
	k := Key{Src: host(1), Dst: host(2), FlowLabel: 0xabcde, DestQP: 0x123456, SrcQP: 77, SrcPort: 0xc000, PKey: 0xffff}
	s := newTestSecret(1)
	flips(k, func(field string, bit int, other Key) {
		if s.key(&k) == s.key(&other) {
			t.Errorf("bit %d of %s is not hashed", bit, field)
		}
	})
	e := endpoint{host(1), host(2), 5}
	for _, other := range []endpoint{{host(3), host(2), 5}, {host(1), host(3), 5}, {host(2), host(1), 5}, {host(1), host(2), 6}} {
		if s.endpoint(&e) == s.endpoint(&other) {
			t.Errorf("endpoints %v and %v have one hash", e, other)
		}
	}
}

// Keys as a fabric has them, in steps of one field, hash as if at random.
func TestHashSpreads(t *testing.T) {
	const keys, slots = 1 << 16, 1 << 17
	const random = 51573 // slots that so many random hashes take: slots × (1 - e^-½)
	for name, key := range map[string]func(i uint32) Key{
		"queue pairs":  func(i uint32) Key { return Key{Src: host(1), Dst: host(2), DestQP: i, SrcPort: 0xc000, PKey: 0xffff} },
		"flow labels":  func(i uint32) Key { return Key{Src: host(1), Dst: host(2), FlowLabel: i, DestQP: 7, PKey: 0xffff} },
		"source ports": func(i uint32) Key { return Key{Src: host(1), Dst: host(2), DestQP: 7, SrcPort: uint16(i)} },
		"all pairs of 256 hosts": func(i uint32) Key {
			return Key{Src: host(uint16(i >> 8)), Dst: host(uint16(i & 0xff)), DestQP: 7}
		},
		"hosts and their queue pairs": func(i uint32) Key { return Key{Src: host(1), Dst: host(uint16(i >> 8)), DestQP: i & 0xff} },
		"IPv4": func(i uint32) Key {
			k := Key{DestQP: 7}
			k.Src[10], k.Src[11], k.Dst[10], k.Dst[11] = 0xff, 0xff, 0xff, 0xff
			binary.BigEndian.PutUint32(k.Src[12:], 0x0a000000|i)
			return k
		},
		"datagrams": func(i uint32) Key { return Key{Src: host(1), Dst: host(2), DestQP: i >> 8, SrcQP: i & 0xff} },
	} {
		for seed := range uint64(2) {
			s := newTestSecret(seed)
			var taken [slots]bool
			n := 0
			for i := range uint32(keys) {
				k := key(i)
				if slot := &taken[s.key(&k)%slots]; !*slot {
					*slot = true
					n++
				}
			}
			if n < random*98/100 {
				t.Errorf("%s, seed %d: %d keys lie in %d of %d slots, want about %d", name, seed, keys, n, slots, random)
			}
		}
	}
}
