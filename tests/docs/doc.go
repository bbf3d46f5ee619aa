// SPDX-License-Identifier: Apache-2.0

// Package docs holds the pages (README.md, the pages under docs/, every other
// Markdown file) to what the programs do. Its tests run the commands of every block
//
//	```console
//	$ command
//	what it prints on stdout, then on stderr
//	```
//
// of a page in order, in one folder per page that has bin/, tests/captures/, the
// dissectors and the golden packets, and compare what they print, line by line. A line … of the page matches
// any number of lines. A command must exit with 0. Commands that begin with make
// are not run here: their target must exist, and they show no output. What
//
//	```console demo
//
// shows of `make demo` is compared with a run of `sluice demo`, figures and bars
// aside. The scripts of
//
//	```sh box
//
// run unchanged on a throwaway machine: this one's files under an overlay, with a
// network of its own; stages_test.go says in which order, what each finds there,
// and what must come of it. The same machine runs, and compares, the commands of
//
//	```console box
//
// What is in
//
//	```console switch
//
// sonic-container's tests of the commands run, what is in
//
//	```sh ipsec NAME
//
// tests/ipsec runs; what is in
//
//	```sh norun
//
// only a switch with SONiC or a kernel with IPsec has, and each line must be one of those
// named here. After a wanted change
//
//	go test ./tests/docs -update
//
// writes what was printed into the pages. Links must lead to files and headings
// that exist, and no page may be larger than its limit. The prose is not checked.
package docs
