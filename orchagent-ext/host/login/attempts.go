// SPDX-License-Identifier: Apache-2.0

package login

import (
	"hash/maphash"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// wrongAtOnce is how many wrong passwords a user or an address may send before it
	// must wait; wrongEvery is the wait for each further one.
	wrongAtOnce = 10
	wrongEvery  = 10 * time.Second

	// mostKnown is how many pairs of user and address are kept after a successful login.
	mostKnown = 1024

	// buckets bounds the memory for users and addresses, whose number clients choose.
	// Users and addresses in the same bucket share its limit.
	buckets = 4096
)

// Source returns the prefix that counts as one address: an IPv4 address, or an IPv6 /64,
// since one host can use all of it. Clients of a unix socket have the zero value.
func Source(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 32
	if ip.Is6() {
		bits = 64
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// pair is a user and where a client claims to be that user from.
type pair struct {
	user   string
	source netip.Prefix
}

// attempts limits wrong passwords by user and by address. A pair that has logged in
// has its own limit, so that guesses from elsewhere do not lock it out.
type attempts struct {
	seed maphash.Seed

	mu sync.Mutex
	// free: when the wrong passwords of a bucket are forgotten
	free  [buckets]time.Time
	known map[pair]time.Time
}

// newAttempts returns limits without attempts. The seed of their hash is random, so that
// outsiders cannot choose names that share a bucket.
func newAttempts() *attempts {
	return &attempts{seed: maphash.MakeSeed(), known: make(map[pair]time.Time)}
}

// of returns the buckets that count for a login.
func (a *attempts) of(l pair) []*time.Time {
	at := func(key any) *time.Time { return &a.free[maphash.Comparable(a.seed, key)%buckets] }
	if _, ok := a.known[l]; ok {
		return []*time.Time{at(l)}
	}
	return []*time.Time{at(l.user), at(l.source)}
}

// wait returns how long the passwords of a login are refused unchecked; 0: it may try.
func (a *attempts) wait(l pair, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var wait time.Duration
	for _, free := range a.of(l) {
		if free.After(now) { // the zero time is too far away for a difference
			wait = max(wait, free.Sub(now)-(wrongAtOnce-1)*wrongEvery)
		}
	}
	return wait
}

// wrong counts a wrong password.
func (a *attempts) wrong(l pair, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, free := range a.of(l) {
		if free.Before(now) {
			*free = now
		}
		*free = free.Add(wrongEvery)
	}
}

// right remembers a login whose password was right.
func (a *attempts) right(l pair, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.known[l]; !ok && len(a.known) >= mostKnown {
		var oldest pair
		for k, at := range a.known {
			if t, ok := a.known[oldest]; !ok || at.Before(t) {
				oldest = k
			}
		}
		delete(a.known, oldest)
	}
	a.known[l] = now
}

// knows reports whether a login has succeeded before.
func (a *attempts) knows(l pair) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.known[l]
	return ok
}
