// SPDX-License-Identifier: Apache-2.0

// Package simulated turns the state of a simulated run into frames: its leaves, as if sluiced had
// written their rows. A row has the fields that the simulator knows.
//
// A port has the name of the host or switch behind it. The time begins at [Begin], so that the same
// run has the same frames. `sluice sim --record` writes them.
package simulated
