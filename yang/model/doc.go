// SPDX-License-Identifier: Apache-2.0

// Package model holds the Go structs of the models in yang/: the tables of Sluice
// in CONFIG_DB, STATE_DB and COUNTERS_DB, and their schema. ygot generates them;
// `make generate` writes model.go again.
//
// Package rows fills the structs from rows of a database, the packages behind it read
// them, and sluice-gnmi finds its paths in the schema. This package has types only.
// Package rows checks what ygot leaves out: ranges of single rows, must, references to
// ports.
package model

//go:generate go run ./internal/generate
//go:generate go run ../internal/pages
