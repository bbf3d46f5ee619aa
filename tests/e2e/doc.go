// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the built programs together, as root, in namespaces that it makes:
// sluiced with the software switch on the leaf of a small fabric, a Redis of its own,
// real packets. `make test` builds these programs.
//
// A test spends most of its time waiting, and has namespaces, databases and folders of its own.
// Those that judge by state, counters and order run in parallel, as many as there are CPUs, after
// all others. Alone are those that judge by time or CPU, that fill a queue once, that change the
// environment, and that storm: the queues in which packets arrive are one for all namespaces.
package e2e
