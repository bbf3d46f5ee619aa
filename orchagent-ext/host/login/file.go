// SPDX-License-Identifier: Apache-2.0

package login

import (
	"log/slog"
	"os"
	"sync"
	"time"
)

// File is the parsed content of one or more files, which are parsed again when one of
// them changes.
type File[T any] struct {
	paths []string
	parse func() (T, error)
	log   *slog.Logger

	mu     sync.Mutex
	value  T
	stamps []stamp
}

// stamp is the size and the time of a file, by which a change is noticed.
type stamp struct {
	size int64
	time time.Time
}

// Open reads the files for the first time. parse reads and checks them.
func Open[T any](log *slog.Logger, parse func() (T, error), paths ...string) (*File[T], error) {
	f := &File[T]{paths: paths, parse: parse, log: log}
	f.stamps = f.stat()
	var err error
	f.value, err = parse()
	return f, err
}

// stat returns the stamps of the files; a missing file has the zero value.
func (f *File[T]) stat() []stamp {
	all := make([]stamp, len(f.paths))
	for i, p := range f.paths {
		if info, err := os.Stat(p); err == nil {
			all[i] = stamp{info.Size(), info.ModTime()}
		}
	}
	return all
}

// Get returns the content of the files, or their last valid content.
func (f *File[T]) Get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.stat()
	changed := false
	for i := range now {
		changed = changed || now[i] != f.stamps[i]
	}
	if !changed {
		return f.value
	}
	f.stamps = now
	value, err := f.parse()
	if err != nil {
		f.log.Error("a changed file is invalid; its previous content stays in force", "files", f.paths, "error", err)
		return f.value
	}
	f.log.Info("a changed file is in force", "files", f.paths)
	f.value = value
	return value
}
