// SPDX-License-Identifier: Apache-2.0

// Package encoding carries the texts that databases hold into gNMI's values and
// back: JSON, JSON_IETF (RFC 7951), PROTO and ASCII, for single leaves and, in
// JSON, for whole subtrees. Types come from the schema.
//
// ASCII is the text of the database, unchanged.
//
// The other packages of the gNMI server call it. It judges form alone: that a
// number is one, not that it is in range, which package rows does.
package encoding
