// SPDX-License-Identifier: Apache-2.0

// Package dcqcn is DCQCN seen from both ends: a [Rate] is the reaction point, which slows a
// flow by the CNPs that its sender receives; a [Steer] decides when a node sends CNPs, so
// that the flow has the rate that is asked for.
//
// The adapters of sluice-lab gen have a Rate for each flow, and flow control has a Steer for
// each flow that it slows at its sender. All results are functions of the arguments (times
// are nanoseconds of any one clock); clock and packets are the caller's.
package dcqcn
