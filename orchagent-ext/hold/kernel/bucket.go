// SPDX-License-Identifier: Apache-2.0

package kernel

import "sluice/orchagent-ext/host/clock"

// Rate bounds messages; the zero value is unlimited.
type Rate = clock.Rate

// Bucket limits messages to its rate.
type Bucket struct {
	Rate Rate
	clock.Bucket
}

// Allow reports whether a message passes now (ns).
//
//conformance:draft-yang/copp
func (b *Bucket) Allow(now int64) bool { return b.Take(b.Rate, 1, now) == 1 }
