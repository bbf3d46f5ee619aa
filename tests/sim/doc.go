// SPDX-License-Identifier: Apache-2.0

// Command sim is `make sim` and `make sim-full`: it runs the scenarios of its folder, measures
// the simulator's speed and memory, compares it with closed forms and with figures of network
// namespaces, and writes build/sim/report.json. It ends with an error where a bar is missed.
package main
