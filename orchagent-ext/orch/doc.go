// SPDX-License-Identifier: Apache-2.0

// Package orch is the loop of sluiced: it watches CONFIG_DB, brings the switch to what
// is configured, receives new flows from the packet path, and writes state and
// counters to STATE_DB and COUNTERS_DB.
//
// One goroutine decides and acts; what it waits for comes through channels. It
// waits for a Redis or a switch that is not there yet, and tries again what
// failed. It reads and writes SONiC's databases through package sonicdb, programs the
// switch through package asic, receives packets through package packetio, and runs the
// fast lane of package flowcontrol beside them.
package orch
