// SPDX-License-Identifier: Apache-2.0

package health

const (
	chunkBits = 6
	chunkSize = 1 << chunkBits // how many values memory is taken for at once
	// growth is how many times as long an array becomes: each copy writes to pages that were never used,
	// and the rest of the memory takes none until values are there.
	growth = 4
)

// slab is values of one type by their numbers, from 1 on; 0 is no value. Their addresses stay. A
// value that is given back serves again.
type slab[T any] struct {
	chunks []*[chunkSize]T
	used   uint32
	free   []uint32
}

// take returns a zero value and its number.
func (s *slab[T]) take() (number uint32, v *T) {
	if last := len(s.free) - 1; last >= 0 {
		number, s.free = s.free[last], s.free[:last]
		v = s.at(number)
		*v = *new(T)
		return number, v
	}
	if int(s.used) == len(s.chunks)<<chunkBits {
		s.chunks = append(s.chunks, new([chunkSize]T))
	}
	s.used++
	return s.used, s.at(s.used)
}

// at returns the value of a number.
func (s *slab[T]) at(number uint32) *T {
	i := number - 1
	return &s.chunks[i>>chunkBits][i&(chunkSize-1)]
}

// get is at; nil for 0.
func (s *slab[T]) get(number uint32) *T {
	if number == 0 {
		return nil
	}
	return s.at(number)
}

// ensure returns the value that a place numbers. It takes one where that is 0.
func (s *slab[T]) ensure(number *uint32) (v *T) {
	if *number != 0 {
		return s.at(*number)
	}
	*number, v = s.take()
	return v
}

// give gives the value of a number back; 0 is none.
func (s *slab[T]) give(number uint32) {
	if number != 0 {
		s.free = append(s.free, number)
	}
}

// array is values of one type by their numbers, from 1 on, in a row: found faster than those of a [slab],
// but they move when it grows.
type array[T any] struct {
	all  []T // the first one is void
	free []uint32
}

// newArray returns an array with memory for n values, which is taken at once.
func newArray[T any](n int) array[T] { return array[T]{all: make([]T, 1, n+1)} }

// used returns how many values there are.
func (a *array[T]) used() int { return len(a.all) - 1 }

// take returns the number of a zero value.
func (a *array[T]) take() (number uint32) {
	if last := len(a.free) - 1; last >= 0 {
		number, a.free = a.free[last], a.free[:last]
		a.all[number] = *new(T)
		return number
	}
	if len(a.all) == cap(a.all) {
		more := make([]T, len(a.all), growth*len(a.all)+chunkSize)
		copy(more, a.all)
		a.all = more
	}
	a.all = a.all[:len(a.all)+1]
	return uint32(len(a.all) - 1)
}

// at returns the value of a number, until the next take.
func (a *array[T]) at(number uint32) *T { return &a.all[number] }

// give gives the value of a number back.
func (a *array[T]) give(number uint32) { a.free = append(a.free, number) }
