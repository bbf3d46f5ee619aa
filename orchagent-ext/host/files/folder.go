// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrShared is of a folder that could have been written by another user than root and that of the process.
var ErrShared = errors.New("other users must not be able to write it")

// OwnFolder makes a folder that no other user can write, with mode 0755. One that is there and
// belongs to another user than root and that of the process, or that others can write, is an error.
func OwnFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var is unix.Stat_t
	if err := unix.Lstat(folder, &is); err != nil {
		return fmt.Errorf("stat %s: %w", folder, err)
	}
	switch {
	case is.Mode&unix.S_IFMT != unix.S_IFDIR:
		return &fs.PathError{Op: "lock files", Path: folder, Err: unix.ENOTDIR}
	case is.Uid != 0 && int(is.Uid) != os.Geteuid() || is.Mode&0o022 != 0:
		return fmt.Errorf("folder %s belongs to user %d and has mode %04o: %w", folder, is.Uid, is.Mode&0o7777, ErrShared)
	}
	return nil
}
