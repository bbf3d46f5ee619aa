// SPDX-License-Identifier: Apache-2.0

// Package saiattr has the attributes of SAI that Sluice uses, each once: its name, its id
// and the form of its value. Package sai passes values to a library by it, package engine
// makes the objects of a policy of them, and their text for the ledger.
//
// The numbers are those of the headers in sai-shim/include, from which numbers.go is
// generated. It is pure Go, apart from libraries.
package saiattr

//go:generate go run ./internal/generate
//go:generate go run ./internal/custom
