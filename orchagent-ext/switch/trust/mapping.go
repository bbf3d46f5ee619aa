// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/host/files"
)

// magic is at offMagic of a journal. Journals of versions before have zeros there.
const magic = "sluice-journal-1"

// errForeign is the error of a file that is no journal.
var errForeign = errors.New("it is no whole journal of SAI calls")

// mapJournal maps the file of the journal, and reads the entries of the process before.
// Without a path, and if another process has the file, it returns memory of this process. So
// it does where the file cannot be had, as on a disk that is full or read-only; warn gets the
// reason then, since sluiced does its work without the journal.
func mapJournal(path string, warn func(error)) (memory []byte, left *Ended, err error) {
	var content []byte
	if path != "" {
		memory, content, err = mapFile(path, warn)
		if err != nil {
			warn(fmt.Errorf("which call of the SAI library ends sluiced is unknown to the next process: %w", err))
		}
	}
	if memory == nil {
		memory, err = unix.Mmap(-1, 0, journalSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return nil, nil, os.NewSyscallError("mmap", err)
		}
		copy(memory, content)
	}
	left = ended(memory)
	clear(memory[:atObjects]) // the objects stay: this process may end before the ledger has them
	copy(memory[offMagic:], magic)
	return memory, left, nil
}

// mapFile returns the mapped file of a journal. Where it cannot be mapped memory is nil, and
// content has the entries of the process before, if they can be read. Both are nil for a file
// that another process has.
func mapFile(path string, warn func(error)) (memory, content []byte, err error) {
	fd, readOnly, err := openLocked(path)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if memory == nil { // else the descriptor stays open, with the lock
			_ = unix.Close(fd)
		}
	}()
	if content, err = contentOf(fd); errors.Is(err, errForeign) && !readOnly {
		warn(files.SetAside(path, fmt.Errorf("%s: %w", path, err)))
		_ = unix.Close(fd)
		if fd, readOnly, err = openLocked(path); err == nil {
			content, err = contentOf(fd)
		}
	}
	switch {
	case err != nil:
	case readOnly:
		err = unix.EROFS
	default:
		err = reserve(fd, content)
	}
	if err == nil {
		memory, err = unix.Mmap(fd, 0, journalSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, content, fmt.Errorf("%s: %w", path, err)
	}
	return memory, nil, nil
}

// openLocked opens the file of a journal and locks it; readOnly: for reading, on a disk that
// is read-only. The error is EWOULDBLOCK where another process has it.
func openLocked(path string) (fd int, readOnly bool, err error) {
	failed := os.MkdirAll(filepath.Dir(path), 0o755)
	fd, err = unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if readOnly = errors.Is(err, unix.EROFS); readOnly {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			err = unix.EROFS
		}
	}
	if err != nil {
		if failed != nil {
			return -1, false, failed
		}
		return -1, false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = unix.Close(fd)
		return -1, false, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return fd, readOnly, nil
}

// contentOf reads a journal; a new file has none. The error is errForeign of a file that is
// cut or another program's.
func contentOf(fd int) ([]byte, error) {
	b := make([]byte, journalSize+1)
	n := 0
	for n < len(b) {
		got, err := unix.Pread(fd, b[n:], int64(n))
		if err != nil {
			return nil, os.NewSyscallError("read", err)
		}
		if got == 0 {
			break
		}
		n += got
	}
	mark := b[offMagic : offMagic+len(magic)]
	switch {
	case n == 0:
		return nil, nil
	case n != journalSize, string(mark) != magic && len(bytes.Trim(mark, "\x00")) > 0:
		return nil, errForeign
	}
	return b[:n], nil
}

// reserve gives the file its length and blocks: a page without a block, on a disk that is
// full, is SIGBUS.
func reserve(fd int, content []byte) error {
	err := unix.Fallocate(fd, 0, 0, journalSize)
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return os.NewSyscallError("reserve its blocks", err)
	}
	whole := make([]byte, journalSize)
	copy(whole, content)
	n, err := unix.Pwrite(fd, whole, 0)
	if err == nil && n < len(whole) {
		err = unix.ENOSPC
	}
	return os.NewSyscallError("write", err)
}
