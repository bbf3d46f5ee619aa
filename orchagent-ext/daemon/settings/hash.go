// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"hash/crc32"
	"os"
	"sync"

	"sluice/orchagent-ext/db/config"
)

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() // "": router ids distinguish switches
	return name
})

// hashSeed returns the seed of ECMP's hash: that of the row, or else one that other switches
// hardly have: with equal seeds on tiers, the choice of a leaf makes the next tier choose
// alike. 0: it stays as it is.
func (r *resolved) hashSeed() uint32 {
	switch {
	case r.Placement.Model == config.ModelLearned:
		return 0
	case r.Placement.HashSeed != nil:
		return *r.Placement.HashSeed
	}
	return max(1, crc32.ChecksumIEEE([]byte(hostname()+"|"+value(r.Global.RouterId)+"|"+value(r.Global.RouterIdV6))))
}

// leafName returns the name of this switch among the leaves.
func leafName(configured string) string {
	return cmp.Or(configured, hostname())
}
