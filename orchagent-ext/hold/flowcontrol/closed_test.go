// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// A report may be asked for while the task ends. Once it is closed its descriptor is another
// owner's.
func TestReportOfAClosedTaskWritesToNoDescriptor(t *testing.T) {
	task, err := New(nil, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(other) }()
	if other != task.control {
		t.Logf("the descriptor %d is not used again: %d is", task.control, other)
	}
	if r := task.Now(); r != nil {
		t.Errorf("a closed task reports %+v", r)
	}
	var value [8]byte
	if _, err := unix.Read(other, value[:]); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("another owner's descriptor was written to: %v", value)
	}
}
