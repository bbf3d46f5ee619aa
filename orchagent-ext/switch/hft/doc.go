// SPDX-License-Identifier: Apache-2.0

// Package hft reads counters of queues that SONiC's High Frequency Telemetry streams (202511 and
// later): IPFIX messages in a multicast group of generic netlink, whose templates are in STATE_DB. So
// it reads beside SONiC's own reader, countersyncd.
//
// A [Session] parses and is pure; a [Listener] has the socket. The driver orchagent writes the rows that
// begin a stream.
package hft
