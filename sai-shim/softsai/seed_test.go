// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

const (
	seedSysctl = "ipv4/fib_multipath_hash_seed"
	seedAttr   = "ECMP_DEFAULT_HASH_SEED"
)

// seeds enters a namespace whose multipath hash has a seed, and returns how to read it.
func seeds(t *testing.T) (now func() int) {
	t.Helper()
	enterNamespace(t)
	if _, err := os.Stat("/proc/sys/net/" + seedSysctl); err != nil {
		t.Skip("needs Linux 6.11: ", err)
	}
	link(t, "port0", "far0")
	return func() int {
		t.Helper()
		return readSysctl(t, seedSysctl)
	}
}

// The seed of ECMP's hash is set, read, kept over kill -9, and given back: when it is set to
// 0, and when a cold start takes away what an earlier process left.
func TestHashSeedIsSetKnownAndRestored(t *testing.T) {
	for before, cold := range map[int]bool{0: false, 77: true, 1<<32 - 1: false} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			now := seeds(t)
			sysctl(t, seedSysctl, before)
			want := func(what string, value int) {
				t.Helper()
				if got := now(); got != value {
					t.Errorf("%s: seed %d, want %d", what, got, value)
				}
			}
			d := startDriver(t)
			d.do("switch SLUICE_PORTS=port0")
			want("untouched", before)
			d.do("set switch "+switchID+" %s=4294967295", seedAttr)
			want("set", 1<<32-1)
			d.do("set switch "+switchID+" %s=5", seedAttr)
			want("set again", 5)
			if got := d.do("get switch "+switchID+" %s", seedAttr); !slices.Equal(got, []string{"5"}) {
				t.Errorf("the switch says %v", got)
			}
			d.kill()
			want("killed", 5)

			d = startDriver(t)
			if cold {
				d.do("switch SLUICE_PORTS=port0 SLUICE_COLD=1")
			} else {
				d.do("switch SLUICE_PORTS=port0")
				want("taken over", 5)
				// The seed that another program sets is seen.
				sysctl(t, seedSysctl, 6)
				if got := d.do("get switch "+switchID+" %s", seedAttr); !slices.Equal(got, []string{"6"}) {
					t.Errorf("with seed 6 the switch says %v", got)
				}
				d.do("set switch "+switchID+" %s=0", seedAttr)
			}
			want("given back", before)
			d.do("remove-switch")
			want("at the end", before)
			wantNoTrace(t)
		})
	}
}
