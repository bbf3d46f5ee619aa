// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package socket

import (
	"context"
	"errors"
)

// errLinuxOnly is the error of all functions elsewhere.
var errLinuxOnly = errors.New("sending and receiving packets needs Linux; --write and --hex do not")

// IPSender exists on Linux only.
type IPSender struct{}

// NewIPSender returns an error.
func NewIPSender(string) (*IPSender, error) { return nil, errLinuxOnly }

// Send is a stub: Linux alone has these sockets.
func (*IPSender) Send([]byte) error { return errLinuxOnly }

// Close is a stub.
func (*IPSender) Close() {}

// Link exists on Linux only.
type Link struct{}

// OpenLink returns an error.
func OpenLink(string, ...[6]byte) (*Link, error) { return nil, errLinuxOnly }

// Send is a stub: Linux alone has these sockets.
func (*Link) Send([]byte) error { return errLinuxOnly }

// Receive is a stub: Linux alone has these sockets.
func (*Link) Receive(context.Context) (Frame, error) { return Frame{}, errLinuxOnly }

// Close is a stub.
func (*Link) Close() {}
