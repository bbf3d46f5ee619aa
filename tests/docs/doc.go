// SPDX-License-Identifier: Apache-2.0

// Package docs holds the pages (README.md, the pages under docs/, every other Markdown
// file) to the behavior of the programs. Its tests run the commands of every block
//
//	```console
//	$ command
//	its output on stdout, then on stderr
//	```
//
// of a page in order, in one folder per page that has bin/, tests/captures/, the
// dissectors and the golden packets, and compare their output, line by line. A line … of
// the page matches any number of lines. A command must exit with 0. Commands that begin
// with make are only checked: their target must exist, and their output is left out. The
// output that
//
//	```console demo
//
// shows of `make demo` is compared with a run of `sluice-lab demo`, figures and bars
// aside. The scripts of
//
//	```sh box
//
// run unchanged on a throwaway machine: this one's files under an overlay, with a network
// of its own; stages_test.go has their order, the state that each finds, and the required
// result. The same machine runs, and compares, the commands of
//
//	```console box
//
// The commands of
//
//	```console switch
//
// run in sonic-container's tests of the commands, those of
//
//	```sh ipsec NAME
//
// in tests/ipsec; those of
//
//	```sh norun
//
// need a switch with SONiC or a kernel with IPsec, and each line must be one of those
// named here. After a wanted change
//
//	go test ./tests/docs -update
//
// writes the output into the pages. Links must lead to files and headings that exist, and
// each page must be within its limit. The prose is for review.
package docs
