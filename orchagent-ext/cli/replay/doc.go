// SPDX-License-Identifier: Apache-2.0

// Package replay reads what a capture or an IPFIX file saw of RDMA connections, for the
// simulator to send again: messages of a capture, flow records of an IPFIX file.
package replay
