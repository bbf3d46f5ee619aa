// SPDX-License-Identifier: Apache-2.0

// Package targets reads and sets the rows of many switches by gNMI, for the commands of the tool that
// take --target. [Choose] finds the switches that a command line names, in inventories of
// this tool, of gnmic and of Ansible. A [Fleet] asks all of them at the same time, each with
// a deadline of its own, so that one that hangs costs its own answer alone.
//
// Rows come as the databases have them: sluice-gnmi serves them by the origin sonic-db. The
// commands read them as they read those of Redis. The answer of a switch is checked by the
// schema: rows of tables that were asked for, and of a bounded size. [Fleet.Set] sends a change
// that its caller made; which changes go together is decided there. The package shows no password.
package targets
