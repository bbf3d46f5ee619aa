// SPDX-License-Identifier: Apache-2.0

// Package memory keeps the data that outlives a process of sluiced: the ledger of its
// objects on the switch, the rows of CONFIG_DB in force, and its count of warm restarts.
package memory
