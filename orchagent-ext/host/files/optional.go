// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// suffixAside is the ending of a file that was set aside. A later one replaces it.
const suffixAside = ".unreadable"

// ReadOptional is [ReadState] for state that a process can do without. A file that is cut,
// empty or another program's is set aside as PATH.unreadable. Whenever the state cannot be
// read, into stays as it is, and warn gets the reason, for the operator.
func ReadOptional[T any](path string, into *T, warn func(error)) {
	var read *T
	err := ReadState(path, &read)
	switch failed := (*fs.PathError)(nil); {
	case err == nil:
		if read != nil {
			*into = *read
		}
	case errors.As(err, &failed): // of the disk or of rights: the content may be good
		warn(err)
	default:
		warn(SetAside(path, err))
	}
}

// SetAside renames a file whose content is unusable because of why, so that a new one takes
// its place and the operator can look at it. It returns why, with the new name or the reason
// that the file stays.
func SetAside(path string, why error) error {
	if err := os.Rename(path, path+suffixAside); err != nil {
		return fmt.Errorf("%w; it cannot be set aside: %w", why, err)
	}
	return fmt.Errorf("%w; it is set aside as %s", why, path+suffixAside)
}

// RemoveLeftovers removes files that processes left when they were killed in [WriteState]:
// those of path, and of files beside it whose names have a word more (sluiced.json,
// sluiced-rows.json). No other process writes these files meanwhile. Errors are ignored, as
// leftovers do no harm. Without a path it does nothing.
func RemoveLeftovers(path string) {
	if path == "" {
		return
	}
	ext := filepath.Ext(path)
	base := filepath.Base(path)
	left := regexp.MustCompile(`^` + regexp.QuoteMeta(base[:len(base)-len(ext)]) + `(-[a-z]+)?` + regexp.QuoteMeta(ext) + `\.[0-9]+$`)
	all, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, one := range all {
		if one.Type().IsRegular() && left.MatchString(one.Name()) {
			_ = os.Remove(filepath.Join(filepath.Dir(path), one.Name()))
		}
	}
}
