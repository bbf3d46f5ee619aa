// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ErrNotSupported is the error where this machine, or this user, lacks network
// namespaces or veth links. The error that wraps it names the feature.
var ErrNotSupported = errors.New("not supported here")

// A Fabric is a set of namespaces with the links between them. Its methods and
// those of its parts are for one goroutine, unless they say otherwise.
type Fabric struct {
	prefix string
	nodes  []*Node
	links  int
	delays []*Delay
	read   atomic.Int64 // frames that captures have returned
}

// made counts the fabrics of this process, whose names it distinguishes.
var made atomic.Int32 // fabrics of this process

// New returns an empty fabric, and removes leftovers of dead makers.
func New() (*Fabric, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("network namespaces need root: %w", ErrNotSupported)
	}
	if err := removeLeftovers(); err != nil {
		return nil, err
	}
	if err := shareNames(); err != nil {
		return nil, err
	}
	return &Fabric{prefix: fmt.Sprintf("%s%d-%d-", namePrefix, os.Getpid(), made.Add(1))}, nil
}

// Close ends every process that was started in the fabric and removes it. It may
// be called more than once.
func (f *Fabric) Close() error {
	var errs []error
	for _, d := range f.delays {
		errs = append(errs, d.close())
	}
	for _, n := range f.nodes {
		errs = append(errs, n.close())
	}
	f.nodes, f.delays = nil, nil
	return errors.Join(errs...)
}

// unsupported wraps a kernel's error about a missing right or feature in
// ErrNotSupported.
func unsupported(what string, err error) error {
	for _, e := range []error{unix.EPERM, unix.EOPNOTSUPP, unix.ENOSYS} {
		if errors.Is(err, e) {
			return fmt.Errorf("%s: %v: %w", what, err, ErrNotSupported)
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}
