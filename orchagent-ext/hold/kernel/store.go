// SPDX-License-Identifier: Apache-2.0

package kernel

// Store has values by key. It reuses the memory of removed ones, and visits values in an order that
// depends on the calls alone: the same events give the same messages in the same order. It is for one thread.
type Store[K comparable, V any] struct {
	at   map[K]int // index in all
	keys []K
	all  []*V
	free []*V
}

// NewStore returns an empty store with memory for so many keys.
func NewStore[K comparable, V any](room int) Store[K, V] {
	return Store[K, V]{at: make(map[K]int, room), keys: make([]K, 0, room), all: make([]*V, 0, room)}
}

// All returns the values, until the next call of [Store.Add] or [Store.Remove].
func (s *Store[K, V]) All() []*V { return s.all }

// Len returns the number of values.
func (s *Store[K, V]) Len() int { return len(s.all) }

// Get returns the value of a key; nil: it has none.
func (s *Store[K, V]) Get(k K) *V {
	if i, ok := s.at[k]; ok {
		return s.all[i]
	}
	return nil
}

// Add returns memory for the value of a new key, as its last user left it.
func (s *Store[K, V]) Add(k K) *V {
	v := reuse(&s.free)
	s.at[k] = len(s.all)
	s.keys, s.all = append(s.keys, k), append(s.all, v)
	return v
}

// Remove removes a key, if it has a value, and puts the last value in its place: a loop that removes
// runs from the last index to the first.
func (s *Store[K, V]) Remove(k K) {
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

// Clear removes all keys.
func (s *Store[K, V]) Clear() {
	for i := len(s.keys) - 1; i >= 0; i-- {
		s.Remove(s.keys[i])
	}
}

// reuse returns something that was used before, or something new.
func reuse[T any](free *[]*T) *T {
	last := len(*free) - 1
	if last < 0 {
		return new(T)
	}
	v := (*free)[last]
	*free = (*free)[:last]
	return v
}
