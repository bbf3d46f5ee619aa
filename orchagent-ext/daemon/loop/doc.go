// SPDX-License-Identifier: Apache-2.0

// Package loop is the loop of sluiced: it watches CONFIG_DB, brings the switch to what
// is configured, receives new flows from the packet path, and writes state and
// counters to STATE_DB and COUNTERS_DB.
//
// One goroutine decides and acts; what it waits for comes through channels, but for
// the answers of Redis, orchagent and the switch. It tries again what failed. Tasks beside it, which run while the configuration wants
// them: the packet path (package packetio), the exporter (ipfix), the fast lane
// (flowcontrol) with the neighbors that it asks, Stream IDs in etcd (streamid), the
// mirrors of STATE_DB and COUNTERS_DB (sonicdb), and the state file. It programs the
// switch through package engine. The [Switch] is opened by the caller of [Run]: orch names
// types of package sai, and opens no library.
package loop
