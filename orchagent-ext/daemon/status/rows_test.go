// SPDX-License-Identifier: Apache-2.0

package status

import (
	"math/rand/v2"
	"testing"
)

func TestFirstReturnsTheFirstInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 9, 10, 11, 19, 20, 21, 1000} {
		all := random.Perm(n)
		got := First(all, 10, func(a, b int) int { return a - b })
		if len(got) != min(n, 10) {
			t.Errorf("%d of %d", len(got), n)
		}
		for i, v := range got {
			if v != i {
				t.Errorf("of %d: %v", n, got)
			}
		}
	}
}
