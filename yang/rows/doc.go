// SPDX-License-Identifier: Apache-2.0

// Package rows carries rows of SONiC's databases into the structs of package
// model and back, and judges them by the schema. A new table or field changes the YANG
// and nothing here; a type that no leaf had before needs its case in check.go and
// encode.go, a new must statement its function in rules.go, and leaves of two tables
// that must differ an entry in clash.go.
//
// SONiC's conventions: a row TABLE|global is the model's container global in
// container TABLE; any other is an entry of its list TABLE_LIST, whose key leaves
// are joined by "|". A field is a leaf; a leaf-list is the field with "@" behind
// its name, its values separated by commas; a row without fields holds NULL=NULL.
//
// [Decode] checks a row on its own (types, ranges, patterns, mandatory fields, must);
// [Row.References] returns the rows that it refers to; [Validate] judges rows together.
// It has no state, and its callers own the connections to databases.
package rows
