// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package nic

import (
	"context"
	"errors"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// errLinuxOnly is the error of all functions elsewhere.
var errLinuxOnly = errors.New("sending and receiving packets needs Linux")

// Monotonic is never called.
func Monotonic() int64 { return 0 }

// Open returns an error.
func Open(string) (int, roce.MAC, error) { return -1, roce.MAC{}, errLinuxOnly }

// Close is never called.
func Close(int) error { return errLinuxOnly }

// Next returns an error.
func Next(string, netip.Addr) (roce.MAC, netip.Addr, error) {
	return roce.MAC{}, netip.Addr{}, errLinuxOnly
}

// Run returns an error.
func Run(context.Context, int, Config, int64, int64) (Counters, error) {
	return Counters{}, errLinuxOnly
}

// Verify returns an error.
func Verify(context.Context, int, *Verifier, uint64) (uint64, error) { return 0, errLinuxOnly }
