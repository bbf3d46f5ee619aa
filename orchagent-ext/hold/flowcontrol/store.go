// SPDX-License-Identifier: Apache-2.0

package flowcontrol

// store has values by key. It reuses the memory of removed ones, and visits values in an order that
// depends on the calls alone: the same events give the same messages in the same order.
type store[K comparable, V any] struct {
	at   map[K]int // index in all
	keys []K
	all  []*V
	free []*V
}

// newStore returns an empty store with memory for so many keys.
func newStore[K comparable, V any](room int) store[K, V] {
	return store[K, V]{at: make(map[K]int, room), keys: make([]K, 0, room), all: make([]*V, 0, room)}
}

// len returns the number of values.
func (s *store[K, V]) len() int { return len(s.all) }

// get returns the value of a key; nil: it has none.
func (s *store[K, V]) get(k K) *V {
	if i, ok := s.at[k]; ok {
		return s.all[i]
	}
	return nil
}

// add returns memory for the value of a new key, as its last user left it.
func (s *store[K, V]) add(k K) *V {
	v := reuse(&s.free)
	s.at[k] = len(s.all)
	s.keys, s.all = append(s.keys, k), append(s.all, v)
	return v
}

// remove removes a key, if it has a value, and puts the last value in its place: a loop that removes
// runs from the last index to the first.
func (s *store[K, V]) remove(k K) {
	i, ok := s.at[k]
	if !ok {
		return
	}
	last := len(s.all) - 1
	s.free = append(s.free, s.all[i])
	s.keys[i], s.all[i] = s.keys[last], s.all[last]
	s.at[s.keys[i]] = i
	delete(s.at, k)
	s.all[last] = nil
	s.keys, s.all = s.keys[:last], s.all[:last]
}

// clear removes all keys.
func (s *store[K, V]) clear() {
	for i := len(s.keys) - 1; i >= 0; i-- {
		s.remove(s.keys[i])
	}
}
