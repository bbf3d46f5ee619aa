// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saitest"
)

// resident returns the anonymous memory of this process, in octets.
func resident(t *testing.T) (octets int) {
	t.Helper()
	debug.FreeOSMemory() // Go's own
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := bytes.Cut(text, []byte("RssAnon:"))
	if _, err := fmt.Sscan(string(after), &octets); err != nil {
		t.Fatal(err)
	}
	return octets * 1024
}

// openAndFill opens a library, creates objects, and closes it.
func openAndFill(library *saitest.Library, objects int) error {
	l, err := sai.Open(library.Path, library.Profile("RECORD", "/dev/null"), nil)
	if err != nil {
		return err
	}
	if err := l.CreateSwitch(true); err != nil {
		return errors.Join(err, l.Close())
	}
	table, err := createTable(l)
	for range objects {
		if err == nil {
			_, err = createCounter(l, table)
		}
	}
	return errors.Join(err, l.Close())
}

// TestMemoryOfALibraryIsReturned opens a library in turn from threads of which each has an arena
// of malloc, creates objects there, and closes it: what one arena had goes back to the system.
func TestMemoryOfALibraryIsReturned(t *testing.T) {
	const threads, objects = 6, 40000
	library := saitest.New(t)
	turns, done := make([]chan struct{}, threads), make(chan error)
	for i := range turns {
		turns[i] = make(chan struct{})
		go func() {
			runtime.LockOSThread()
			for range turns[i] {
				done <- openAndFill(library, objects)
			}
		}()
	}
	var first int
	for i := range 2 * threads {
		turns[i%threads] <- struct{}{}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		is := resident(t)
		if i == 0 {
			first = is
		}
		t.Logf("after opening %d: %d MB", i+1, is>>20)
		if is > first+20<<20 {
			t.Errorf("after opening %d the process has %d MB, %d after the first", i+1, is>>20, first>>20)
		}
	}
}
