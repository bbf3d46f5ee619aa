// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package ipfix

import "net"

// pathMTU returns 0: the path MTU is unknown on this system.
func pathMTU(*net.UDPConn, bool) int { return 0 }
