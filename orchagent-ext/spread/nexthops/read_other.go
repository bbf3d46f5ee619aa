// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package nexthops

import (
	"errors"
	"net/netip"
)

// Read returns an error: the group is that of Linux.
func Read(netip.Addr) (Group, error) {
	return Group{}, errors.New("next hops of the kernel need Linux")
}
