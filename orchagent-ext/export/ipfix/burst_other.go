// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package ipfix

import (
	"errors"
	"net"
)

// control is empty: this system takes one datagram a call.
type control struct{}

var errOne = errors.New("one datagram a call")

func (control) write(*net.UDPConn, []byte, int) error { return errOne }

func unsegmented(err error) bool { return errors.Is(err, errOne) }
