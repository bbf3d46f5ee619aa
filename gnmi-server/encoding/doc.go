// SPDX-License-Identifier: Apache-2.0

// Package encoding carries the texts that databases hold into gNMI's values and
// back: JSON, JSON_IETF (RFC 7951), PROTO and ASCII, for single leaves and, in
// JSON, for whole subtrees. Types come from the schema.
//
// ASCII is the text of the database, unchanged.
//
// It judges form alone: whether a number is one. Package rows judges whether it is in
// range.
package encoding
