// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The shares of hashes are those of the weights, and a dead member has none.
func TestThresholdSharesByWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := make([]Member, rapid.IntRange(1, 64).Draw(t, "members"))
		total := 0
		for i := range members {
			members[i] = Member{Weight: rapid.IntRange(1, 65535).Draw(t, "weight"), Dead: rapid.IntRange(0, 3).Draw(t, "dead") == 0}
			if !members[i].Dead {
				total += members[i].Weight
			}
		}
		g, err := Threshold(members)
		if err != nil {
			t.Fatal(err)
		}
		hash := rapid.Uint32Range(0, 1<<31-1).Draw(t, "hash")
		got := g.Choose(hash)
		if total == 0 {
			if got != -1 {
				t.Fatalf("all members are dead, and %d was chosen", got)
			}
			return
		}
		if members[got].Dead {
			t.Fatalf("member %d is dead", got)
		}
		sum := 0
		for _, m := range members[:got] {
			if !m.Dead {
				sum += m.Weight
			}
		}
		at, low, high := float64(hash), float64(sum)/float64(total)*(1<<31), float64(sum+members[got].Weight)/float64(total)*(1<<31)
		if at < low-1 || at > high+1 {
			t.Errorf("hash %.0f went to member %d, whose share is %.0f to %.0f", at, got, low, high)
		}
	})
}

// The bounds are the kernel's to the last bit: a member's last hash is its share of 2^31
// with all before it, rounded to the nearest, less 1.
func TestThresholdBoundsAreRoundedToTheNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var members []Member
		total := int64(0)
		for range rapid.IntRange(2, 16).Draw(t, "members") {
			w := rapid.IntRange(1, 300).Draw(t, "weight")
			members, total = append(members, Member{Weight: w}), total+int64(w)
		}
		g, err := Threshold(members)
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for i, m := range members[:len(members)-1] {
			sum += int64(m.Weight)
			quotient, rest := (sum<<31)/total, (sum<<31)%total
			if 2*rest >= total {
				quotient++
			}
			if a, b := g.Choose(uint32(quotient-1)), g.Choose(uint32(quotient)); a != i || b != i+1 {
				t.Errorf("hashes %d and %d go to members %d and %d, want %d and %d", quotient-1, quotient, a, b, i, i+1)
			}
		}
	})
}

func TestThresholdAgreesWithEqualPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tuple, n := tuples(t), rapid.IntRange(1, 300).Draw(t, "n")
		g, err := Equal(n)
		if err != nil {
			t.Fatal(err)
		}
		k := Kernel{Seed: 5, Policy: PolicyFields, Fields: FiveTuple | FieldLabel}
		if got, want := g.Choose(k.Hash(&tuple)), (Linux{Seed: 5}).Path(tuple, true, n); got != want {
			t.Errorf("member %d, path %d", got, want)
		}
	})
}

// What is not resolved goes to the next member that is, and after the last to the first.
func TestThresholdPassesOverUnresolvedMembers(t *testing.T) {
	for _, tt := range []struct {
		unresolved string // a digit a member
		want       [4]int
	}{
		{"0000", [4]int{0, 1, 2, 3}}, {"0100", [4]int{0, 2, 2, 3}}, {"0011", [4]int{0, 1, 0, 0}},
		{"1001", [4]int{1, 1, 2, 1}}, {"1111", [4]int{0, 0, 0, 0}},
	} {
		members := weights(1, 1, 1, 1)
		for i := range members {
			members[i].Unresolved = tt.unresolved[i] == '1'
		}
		g, err := Threshold(members)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range tt.want {
			if got := g.Choose(uint32(i)<<29 + 1); got != want {
				t.Errorf("%s: the share of member %d goes to %d, want %d", tt.unresolved, i, got, want)
			}
		}
	}
}

func TestGroupsThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		make func() error
		want string
	}{
		{func() error { _, err := Threshold(weights(1, 0)); return err }, "member 1 has weight 0"},
		{func() error { _, err := Threshold(weights(65536)); return err }, "1 to 65535"},
		{func() error { _, err := Threshold(make([]Member, maxMembers+1)); return err }, "at most 65536"},
		{func() error { _, err := Resilient(nil, 2); return err }, "0 buckets"},
		{func() error { _, err := Resilient([]uint16{0, 2}, 2); return err }, "bucket 1 belongs to member 2 of 2"},
		{func() error { _, err := OfHash(CRC32{}, 0); return err }, "0 members"},
		{func() error { return Kernel{Policy: PolicyL3}.Err() }, "seed is 0"},
		{func() error { return Kernel{Seed: 1, Policy: 2}.Err() }, "policy is 2"},
		{func() error { _, err := OfKernel(Kernel{}, nil); return err }, "seed is 0"},
	} {
		if err := tt.make(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}
