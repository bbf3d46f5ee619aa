// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package socket

import "context"

// Tap exists on Linux only.
type Tap struct{}

// OpenTap returns an error.
func OpenTap(context.Context, []string, ...[6]byte) (*Tap, error) { return nil, errLinuxOnly }

// Receive is a stub: Linux alone has these sockets.
func (*Tap) Receive(func()) (Passing, error) { return Passing{}, errLinuxOnly }

// Lost is a stub: Linux alone has these sockets.
func (*Tap) Lost() uint64 { return 0 }

// Close is a stub.
func (*Tap) Close() {}
