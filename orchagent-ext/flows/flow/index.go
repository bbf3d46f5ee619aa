// SPDX-License-Identifier: Apache-2.0

package flow

// index is an open-addressing hash index (linear probing) of entries that lie
// in a slice of their own. A slot holds the entry's hash and its number plus 1,
// so that a look-up touches an entry only where 32 bits of hash agree.
type index struct {
	slots []slot
	mask  uint32
}

// slot is a place of the index: the hash, and the entry's number plus 1; 0: free.
type slot struct{ hash, entry uint32 }

// newIndex makes an index for so many entries, at most two thirds full.
func newIndex(capacity int) index {
	size := 8
	for 2*size < 3*capacity {
		size *= 2
	}
	return index{make([]slot, size), uint32(size - 1)}
}

// lacks reports whether the index has no room for so many entries.
func (x *index) lacks(entries int) bool { return 3*entries > 2*len(x.slots) }

// grow doubles the index.
func (x *index) grow() {
	before := x.slots
	*x = index{make([]slot, 2*len(before)), 2*x.mask + 1}
	for _, s := range before {
		if s.entry != 0 {
			x.put(s.hash, s.entry-1)
		}
	}
}

// first returns the first entry with the hash, plus 1; 0: the index lacks the
// hash.
func (x *index) first(hash uint32) uint32 {
	for i := hash & x.mask; ; i = (i + 1) & x.mask {
		if s := x.slots[i]; s.hash == hash || s.entry == 0 {
			return s.entry
		}
	}
}

// put adds an entry that is new to the index.
func (x *index) put(hash uint32, entry uint32) {
	i := hash & x.mask
	for x.slots[i].entry != 0 {
		i = (i + 1) & x.mask
	}
	x.slots[i] = slot{hash, entry + 1}
}

// remove takes an entry out, and closes the gap behind it.
func (x *index) remove(hash uint32, entry uint32) {
	i := hash & x.mask
	for x.slots[i].entry != entry+1 {
		i = (i + 1) & x.mask
	}
	for j := i; ; {
		j = (j + 1) & x.mask
		s := x.slots[j]
		if s.entry == 0 {
			break
		}
		// s may move to i if its home lies outside the range between them.
		if (j-s.hash)&x.mask >= (j-i)&x.mask {
			x.slots[i] = s
			i = j
		}
	}
	x.slots[i] = slot{}
}
