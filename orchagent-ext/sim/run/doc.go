// SPDX-License-Identifier: Apache-2.0

// Package run runs one load over one fabric with one set of features: it makes a network,
// has paths chosen, sends the messages of the load, and sums up. A run is of one goroutine and
// depends on its [Spec] alone.
package run
