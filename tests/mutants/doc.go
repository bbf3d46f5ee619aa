// SPDX-License-Identifier: Apache-2.0

// Command mutants proves the tests that the conformance pages name: it applies each patch of draft-*/ to
// the product, one at a time, and runs the test that has to fail. `make mutants` runs it and writes
// build/mutants/report.json.
//
// A patch has the row of tests/conformance that it breaks, a test with the mark of that row, and the
// change: lines with - that the file has once, and lines with + in their place.
//
//	row draft-yang/hop-limit
//	test ./orchagent-ext/wire/notify TestCheckHopLimit
//
//	--- orchagent-ext/wire/notify/pfcm.go
//	-	if k == KindPFCM && hopLimit != 255 {
//	+	if k == KindPFCM && hopLimit < 254 {
//
// The tree stays as it is: the compiler reads the changed file by an overlay, and of C a copy of the software
// switch is built. `go run ./tests/mutants -only draft-yang/hop` runs these alone, and
// puts their outcomes, with the commit that each ran on, into the report. survivors.txt has the rows
// of which a mutant survived; the pages show these rows, and those without a mutant, as tested in parts.
package main
