// SPDX-License-Identifier: Apache-2.0

// Package loop is the loop of sluiced: it watches CONFIG_DB, brings the switch to the
// configuration, receives new flows from the packet path, and writes state and counters to
// STATE_DB and COUNTERS_DB.
//
// One goroutine decides and acts. It waits on channels, and for the answers of Redis,
// orchagent and the switch. It tries again after a failure. Tasks run beside it while the
// configuration wants them: the packet path and the exporter (package packetpath), flow
// control (control), Stream IDs (streamids), the mirrors of STATE_DB and COUNTERS_DB
// (sonicdb), and the state file (memory). It programs the switch through package engine. The
// caller of [Run] opens the [Switch].
package loop
