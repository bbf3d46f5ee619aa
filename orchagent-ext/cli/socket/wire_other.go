// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package socket

import (
	"context"
	"errors"
)

var errLinuxOnly = errors.New("sending and receiving packets needs Linux; --write and --hex do not")

// IPSender exists on Linux only.
type IPSender struct{}

// NewIPSender returns an error.
func NewIPSender(string) (*IPSender, error) { return nil, errLinuxOnly }

// Send is never called.
func (*IPSender) Send([]byte) error { return errLinuxOnly }

// Close does nothing.
func (*IPSender) Close() {}

// Link exists on Linux only.
type Link struct{}

// OpenLink returns an error.
func OpenLink(string, ...[6]byte) (*Link, error) { return nil, errLinuxOnly }

// Send is never called.
func (*Link) Send([]byte) error { return errLinuxOnly }

// Receive is never called.
func (*Link) Receive(context.Context) (Frame, error) { return Frame{}, errLinuxOnly }

// Close does nothing.
func (*Link) Close() {}
