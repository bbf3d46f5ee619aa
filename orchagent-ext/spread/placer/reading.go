// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"log/slog"
	"net/netip"
	"time"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
)

// Times of reading next hops.
const (
	readEvery   = 30 * time.Second // in any case
	settleNews  = 20 * time.Millisecond
	retryGroups = time.Second
)

// reading is when next hops are read: soon after each report that they may have changed.
type reading struct {
	net Network
	log *slog.Logger

	// How the kernel hashes, read with each check of the ports; hashErr is why that is
	// unknown.
	hash    ecmp.Kernel
	hashErr error

	// staleAt: when that was reported, for settleNews; readAt: when next hops were
	// read last, for readEvery and retryGroups; err is why that failed, nil after a
	// success.
	stale   bool // next hops may have changed
	staleAt time.Time
	readAt  time.Time
	err     error
}

// changed records a report that next hops may have changed.
func (r *reading) changed(now time.Time) {
	if !r.stale || now.Before(r.staleAt) {
		r.stale, r.staleAt = true, now
	}
}

// readHash reads how the kernel hashes.
func (r *reading) readHash() {
	before, beforeErr := r.hash, r.hashErr
	r.hash, r.hashErr = r.net.Hash()
	if r.hash != before || (r.hashErr == nil) != (beforeErr == nil) {
		r.stale = true
	}
}

// due reports whether next hops are to be read now.
func (r *reading) due(now time.Time) bool {
	if now.Sub(r.readAt) >= readEvery || now.Before(r.readAt) {
		r.stale = true
	}
	settled := now.Sub(r.staleAt) >= settleNews || now.Before(r.staleAt)
	return r.stale && settled && (r.err == nil || now.Sub(r.readAt) >= retryGroups)
}

// groups reads the next hops to destinations. It reports whether they are known; else it is
// due again.
func (r *reading) groups(now time.Time, dsts []netip.Addr) (results map[netip.Addr]nexthops.Result, known bool) {
	r.stale, r.readAt = false, now
	if r.hash == (ecmp.Kernel{}) && r.hashErr == nil {
		r.hash, r.hashErr = r.net.Hash()
	}
	results, err := r.net.Groups(dsts)
	if err != nil {
		if r.err == nil || r.err.Error() != err.Error() {
			r.log.Warn("next hops cannot be read; flows keep their labels", "error", err)
		}
		r.err, r.stale = err, true
		return nil, false
	}
	r.err = nil
	return results, true
}
