// SPDX-License-Identifier: Apache-2.0

// Package detector has the flows that fill queues: it takes the switch's events of them, reads their
// depth, and has package congestion decide which are congested.
//
// A [Detector] passes the signals that result to packages downstream, gateway and advisor, in this order,
// and keeps their records of a flow beside it. It learns from an event by which name other nodes know the
// flow. It sends no messages.
package detector
