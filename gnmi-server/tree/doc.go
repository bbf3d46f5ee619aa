// SPDX-License-Identifier: Apache-2.0

// Package tree is the data that gNMI shows: the rows of the databases as leaves,
// with the defaults that are in use.
//
//   - [Reader] reads rows when it is asked: for Get, Set, and Subscribe ONCE and POLL;
//   - [Live] follows the databases and reports changes: for Subscribe STREAM.
//
// In style YANG a row has its key's leaves, the fields that have the form of their type,
// and, if it is configuration, the default of every missing leaf; the only row of a table
// exists even when the database lacks it. In style SonicDB it has its fields, whatever
// they hold, but in UTF-8; NULL, if it has none. Fields outside the models are left out,
// and so are rows whose key paths cannot name, or whose key lacks the form of its type in
// style YANG.
//
// It only reads the databases.
package tree
