// SPDX-License-Identifier: Apache-2.0

// Package upgrade tests that this version takes over the databases of an earlier one: rows
// of CONFIG_DB stay in force, the ledger in STATE_DB is adopted whole, and gNMI serves
// every leaf. testdata has a folder for each recorded version: rows of a leaf with four
// uplinks, by method, recorded while sluiced ran, and the leaves of its schema. Maps of the
// software switch (softsai.json), with the ledger of the time, are replayed by its own tests.
package upgrade
