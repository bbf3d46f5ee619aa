// SPDX-License-Identifier: Apache-2.0

// Package readme holds the README to what the programs do. Its test runs the
// commands of every block
//
//	```console
//	$ command
//	what it prints on stdout, then on stderr
//	```
//
// in order, in one folder that has bin/ and tests/captures/ of its own, and
// compares what they print, line by line. A line … of the README stands for any
// number of lines. A command must exit with 0. Commands that begin with make are
// not run: their target must exist, and they show no output. The scripts of
//
//	```sh box
//
// run as they stand, in order, on a throwaway machine: this one's files under an
// overlay, with a network of its own; stages_test.go says what each finds there,
// and what must come of it. The same machine runs, and compares, the commands of
//
//	```console box
//
// What is in
//
//	```console switch
//
// sonic-container's tests of the commands run; what is in
//
//	```sh norun
//
// only a switch with SONiC has, and each line must be one of those named here. After
// a wanted change
//
//	go test ./tests/readme -update
//
// writes what was printed into the README. It does not check the
// prose.
package readme
