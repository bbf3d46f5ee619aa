// SPDX-License-Identifier: Apache-2.0

// Package advisor advises the senders of flows of the rate that fits (Rate Advice, draft-zz). An
// [Advisor] measures the congested flows of a queue, and a [Limiter] the flows that a rate policy is for,
// congested or free.
//
// Package detector passes signals of flows and depths to the advisor and keeps the [Flow] of each beside
// it; package gateway has clients advised. The rates are decided by package congestion; the switch counts
// octets for it.
package advisor
