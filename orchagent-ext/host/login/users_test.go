// SPDX-License-Identifier: Apache-2.0

package login

import (
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

func hashed(t *testing.T, name, password string, cost int) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	if err != nil {
		t.Fatal(err)
	}
	return name + ":" + string(hash) + "\n"
}

// A hash that is too cheap or too dear is refused with its line, its user and the
// costs that are allowed.
func TestUsersRefuseCosts(t *testing.T) {
	for cost, want := range map[int]string{5: "cost 5; it must be 10 to 14, as htpasswd -B -C 10 makes it", 10: "", 14: "", 15: "cost 15; it must be 10 to 14"} {
		line := fmt.Sprintf("bob:%s\n", noPassword(cost))
		_, err := OpenUsers(write(t, "# users\n"+string(append([]byte("alice:"), noPassword(10)...))+"\n\n"+line), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "line 4: the hash of bob has "+want)) {
			t.Errorf("cost %d: %v", cost, err)
		}
	}
}

// A login is as much work for every name: users of each cost, and no user.
func TestLoginTakesTheSameWorkForEveryName(t *testing.T) {
	f := &userFile{cost: 13, hashes: map[string][]byte{}}
	for cost := MinCost; cost <= f.cost; cost++ {
		f.hashes[fmt.Sprint("cost", cost)] = noPassword(cost)
	}
	for _, name := range []string{"cost10", "cost11", "cost12", "cost13", "none", ""} {
		work := 0
		for _, hash := range f.work(name) {
			cost, err := bcrypt.Cost(hash)
			if err != nil {
				t.Fatal(err)
			}
			work += 1 << cost
		}
		if work != 1<<f.cost {
			t.Errorf("%q: work %d, want %d", name, work, 1<<f.cost)
		}
	}
}

// The password is compared with the user's own hash alone.
func TestLoginNeedsTheUsersPassword(t *testing.T) {
	u, err := OpenUsers(write(t, hashed(t, "alice", "ecila", 10)+hashed(t, "bob", "bob", 11)), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for login, right := range map[[2]string]bool{
		{"alice", "ecila"}: true, {"bob", "bob"}: true, {"alice", "bob"}: false, {"bob", "ecila"}: false, {"carol", "ecila"}: false, {"", ""}: false, {"alice", ""}: false,
	} {
		err := u.Check(t.Context(), login[0], login[1], Origin{})
		if right && err != nil || !right && !errors.Is(err, errPassword) {
			t.Errorf("%v: %v", login, err)
		}
		if still := u.Still(login[0], login[1], Origin{}); (still == nil) != right {
			t.Errorf("still %v: %v", login, still)
		}
	}
}

// While no passwords are checked, a correct one is refused, too, even if it has just
// passed, except on the connection that has logged in.
func TestLoginLimitAppliesToKnownPasswords(t *testing.T) {
	u, err := OpenUsers(write(t, hashed(t, "alice", "ecila", 10)), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	from := func(connection string) Origin { return Origin{connection, netip.MustParsePrefix("10.0.0.1/32")} }
	if err := u.Check(t.Context(), "alice", "ecila", from("10.0.0.1:1")); err != nil {
		t.Fatal(err)
	}
	for range 10 * wrongAtOnce { // for long enough, however slow this is
		u.attempts.wrong(pair{"alice", from("").Source}, time.Now())
	}
	if err := u.Check(t.Context(), "alice", "ecila", from("10.0.0.1:2")); !errors.Is(err, ErrWait) {
		t.Errorf("another connection: %v", err)
	}
	if err := u.Check(t.Context(), "alice", "ecila", from("10.0.0.1:1")); err != nil {
		t.Errorf("the connection that has logged in: %v", err)
	}
	if err := u.Still("alice", "ecila", from("10.0.0.1:2")); err == nil {
		t.Error("a connection that has not logged in still may")
	}
}

// Ten wrong passwords by user or by address, then one each ten seconds; a pair that
// has logged in is held up by its own wrong passwords alone.
func TestLoginLimitOfWrongPasswords(t *testing.T) {
	from := func(n byte) netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, n}), 32) }
	now := time.Unix(1_800_000_000, 0)
	mayTry := func(a *attempts, what string, l pair, want bool) {
		t.Helper()
		if wait := a.wait(l, now); (wait == 0) != want {
			t.Errorf("%s: waits %v", what, wait)
		}
	}
	keys := []any{pair{"alice", from(9)}, "alice", "bob", "carol", from(1), from(2), from(9)}
	for n := range 10 {
		keys = append(keys, from(byte(n+20)), fmt.Sprint("guess", n))
	}
	a := attemptsApart(keys)
	a.right(pair{"alice", from(9)}, now)
	for n := range byte(10) {
		mayTry(a, "a guess of alice's password", pair{"alice", from(n + 20)}, true)
		a.wrong(pair{"alice", from(n + 20)}, now)
	}
	mayTry(a, "alice from elsewhere", pair{"alice", from(1)}, false)
	mayTry(a, "alice from where she was before", pair{"alice", from(9)}, true)
	mayTry(a, "bob", pair{"bob", from(1)}, true)
	for n := range 10 {
		a.wrong(pair{fmt.Sprint("guess", n), from(2)}, now)
	}
	mayTry(a, "anyone from where guesses came from", pair{"carol", from(2)}, false)
	for range 10 {
		a.wrong(pair{"alice", from(9)}, now)
	}
	mayTry(a, "alice's pair after its own wrong passwords", pair{"alice", from(9)}, false)
	now = now.Add(wrongEvery)
	for _, l := range []pair{{"alice", from(1)}, {"carol", from(2)}, {"alice", from(9)}} {
		mayTry(a, "after ten seconds", l, true)
		a.wrong(l, now)
		mayTry(a, "and wrong again", l, false)
	}
}

// attemptsApart returns limits without attempts, by a seed for which no two of the keys share a bucket:
// one random seed in fifteen or so has two that do.
func attemptsApart(keys []any) *attempts {
	for {
		a, taken := newAttempts(), map[uint64]bool{}
		for _, k := range keys {
			taken[maphash.Comparable(a.seed, k)%buckets] = true
		}
		if len(taken) == len(keys) {
			return a
		}
	}
}

// What is remembered of good logins is bounded.
func TestLoginLimitOfKnownPairs(t *testing.T) {
	a := newAttempts()
	for n := range 2 * mostKnown {
		a.right(pair{user: fmt.Sprint(n)}, time.Unix(int64(n), 0))
	}
	if len(a.known) != mostKnown || a.knows(pair{user: "0"}) || !a.knows(pair{user: fmt.Sprint(2*mostKnown - 1)}) {
		t.Errorf("%d pairs are known", len(a.known))
	}
}

// An IPv6 host has a /64 to itself; IPv4 in IPv6 is IPv4.
func TestSourceOfAnAddress(t *testing.T) {
	for text, want := range map[string]string{
		"10.1.2.3:4": "10.1.2.3/32", "[::ffff:10.1.2.3]:4": "10.1.2.3/32", "[2001:db8:1:2:3::4]:5": "2001:db8:1:2::/64", "[fe80::1%eth0]:5": "fe80::/64",
	} {
		at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))
		if got := Source(at).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := Source(&net.UnixAddr{Name: "@", Net: "unix"}); got.IsValid() {
		t.Errorf("a unix socket: %v", got)
	}
}

// write writes a file of users.
func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
