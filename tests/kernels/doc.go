// SPDX-License-Identifier: Apache-2.0

// Command kernels runs the tests of the software switch, and one test of each feature, with other
// kernels: those of Debian's suites, in guests of tests/guest. `make kernels` runs all of it as root;
// no KVM is needed.
//
// The programs and tests are those of this machine, built here, with its libraries and its
// redis-server and iproute2; the kernel and its modules are Debian's packages (kernels.go). Each
// check is a line of the output, and of report.json (report.go).
package main
