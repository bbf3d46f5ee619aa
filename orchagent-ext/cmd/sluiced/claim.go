// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"syscall"

	"sluice/orchagent-ext/sonicdb"
)

// claim makes this process the only sluiced of these databases in its network
// namespace: two would undo each other's work. The claim is an abstract socket, so
// the kernel gives it up when the process ends, however that comes.
func claim(d *sonicdb.Databases) (release func(), err error) {
	db, err := d.Database("CONFIG_DB")
	if err != nil {
		return nil, err
	}
	name := sha256.Sum256(fmt.Append(nil, db.Address, db.ID)) // a socket's name is short
	l, err := net.Listen("unix", fmt.Sprintf("@sluiced/%x", name[:16]))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another sluiced runs on the databases at %s: end it first", db.Address)
	}
	if err != nil {
		return nil, fmt.Errorf("claim the databases at %s: %w", db.Address, err)
	}
	return func() { _ = l.Close() }, nil
}
