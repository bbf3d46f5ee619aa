// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"os"

	"golang.org/x/sys/unix"
)

// memory is octets outside the heap of Go.
type memory []byte

// allocate returns a copy of octets.
func allocate(from []byte) (memory, error) {
	m, err := unix.Mmap(-1, 0, len(from), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	copy(m, from)
	return m, nil
}

// free gives the memory back.
func (m memory) free() { _ = unix.Munmap(m) } // what allocate returned

// size is how much memory there is: whole pages.
func (m memory) size() int64 {
	page := int64(os.Getpagesize())
	return (int64(len(m)) + page - 1) / page * page
}
