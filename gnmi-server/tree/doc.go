// SPDX-License-Identifier: Apache-2.0

// Package tree is the data that gNMI shows: the rows of the databases as leaves,
// with the defaults that are in use.
//
//   - [Reader] reads rows when it is asked: for Get, Set, and Subscribe ONCE and POLL;
//   - [Live] follows the databases and tells what changes: for Subscribe STREAM.
//
// In style YANG a row has its key's leaves, the fields that have the form of
// their type, and, if it is configuration, the default of every leaf that is not
// there; the only row of a table is there even when the database lacks it. In
// style SonicDB it has its fields, whatever they hold, but in UTF-8; NULL, if it
// has none. Fields that no model has are not there at all, nor are rows whose key
// no path can name, or in style YANG has not the form of its type.
//
// The packages subscribe and server call it. It writes nothing.
package tree
