// SPDX-License-Identifier: Apache-2.0

// Package packetpath runs the packet path of sluiced, package packetio, and the exporter of
// IPFIX after it, as configured. It describes both: the collectors in COUNTERS_DB, and the
// health of connections in the rows of flows.
package packetpath
