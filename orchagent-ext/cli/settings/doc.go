// SPDX-License-Identifier: Apache-2.0

// Package settings changes the rows of CONFIG_DB that Sluice acts on, for `sluice
// config`, `sluice diff` and `sluice rollback`. Tables, fields and their values come from
// the model, by package rows.
//
// A change is judged as a whole before anything is written, and written all or nothing. A
// [Journal] keeps the rows that the last changes replaced, so that they can be restored.
// The deciding code is pure; [Store] is where rows are read and written.
package settings
