// SPDX-License-Identifier: Apache-2.0

// Package sampled estimates which flow fills an egress queue of a switch that reports only how
// full a queue is, and samples of the packets that go there.
//
// A [Queue] has the flows of one queue with their shares, which decay: each reading of the depth
// ends an interval. A [Clock] judges the readings, and reads less often where they are useless.
// The caller gives the estimates to package congestion, reads the counters, and knows which
// queue a sample went to. All results are functions of the arguments (times are nanoseconds of
// any one clock).
package sampled
