// SPDX-License-Identifier: Apache-2.0

// Package queuepairs is queue pairs that send RoCEv2 at an even pace from one host of a shape of
// package fabric, and a receiver at the other that counts packets out of order and times
// those that are lost. Each queue pair has a UDP source port of its own, as adapters give it.
package queuepairs
