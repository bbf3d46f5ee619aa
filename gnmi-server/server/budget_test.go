// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"
)

// A client that reads little saves ten seconds of its budget; then it waits for
// each leaf. Another client does not.
func TestLimitOfLeaves(t *testing.T) {
	b := newBudget(1000)
	alice, bob := client{user: "alice"}, client{user: "bob"}
	now := time.Unix(1_800_000_000, 0)
	take := func(what string, c client, n int, want time.Duration) {
		t.Helper()
		if got := max(0, b.take(c, n, now)); got != want {
			t.Errorf("%s: waits %v, want %v", what, got, want)
		}
	}
	take("what is saved", alice, 10000, 0)
	take("and one second more", alice, 1000, time.Second)
	take("another client", bob, 1, 0)
	now = now.Add(time.Second)
	take("after a second", alice, 0, 0)
	now = now.Add(time.Hour)
	take("after an hour it has no more than what can be saved", alice, 10500, 500*time.Millisecond)
	take("a third one", client{user: "carol"}, 1, 0)
	if _, there := b.due[bob]; there {
		t.Error("a client that has paid is remembered")
	}
}
