// SPDX-License-Identifier: Apache-2.0

package network

// pool has the packets in flight and the free ones: none is allocated once it has grown.
type pool struct {
	packets []packet
	free    int32 // first free packet, or -1
	flying  int
}

// take puts a packet into flight, and returns its number.
func (s *pool) take(k packet) int32 {
	s.flying++
	p := s.free
	if p < 0 {
		s.packets = append(s.packets, k)
		return int32(len(s.packets) - 1)
	}
	s.free = s.packets[p].next
	s.packets[p] = k
	return p
}

// give frees a packet.
func (s *pool) give(p int32) {
	s.flying--
	s.packets[p].next = s.free
	s.free = p
}

// random is a state of xorshift64*.
type random uint64

// next returns 64 random bits.
func (r *random) next() uint64 {
	x := *r
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = x
	return uint64(x) * 0x2545f4914f6cdd1d
}

// chance reports true with a probability.
func (r *random) chance(p float64) bool { return float64(r.next()>>11) < p*(1<<53) }
