// SPDX-License-Identifier: Apache-2.0

// Package settings changes the rows of CONFIG_DB that Sluice acts on: what `sluice
// config`, `sluice diff` and `sluice rollback` do. Tables, fields and what they take come
// from the model, by package rows.
//
// A change is judged as a whole before anything is written, and written all or nothing. A
// [Journal] keeps what the last changes replaced, so that they can be taken back. What
// decides is pure; [Store] is where rows are read and written.
package settings
