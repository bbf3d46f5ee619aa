// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"hash/crc32"
	"os"
	"sync"

	"sluice/orchagent-ext/db/config"
)

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() // "": router ids distinguish switches
	return name
})

// HashSeed is the seed of ECMP's hash: that of the row, or else one that other switches
// hardly have: with equal seeds on tiers, the choice of a leaf makes the next tier choose
// alike. 0: it stays as it is.
func HashSeed(s *config.Snapshot) uint32 {
	switch {
	case s.Placement.Model == config.ModelLearned:
		return 0
	case s.Placement.HashSeed != nil:
		return *s.Placement.HashSeed
	}
	return max(1, crc32.ChecksumIEEE([]byte(hostname()+"|"+Value(s.Global.RouterId)+"|"+Value(s.Global.RouterIdV6))))
}

// LeafName is the name of this switch among the leaves.
func LeafName(s *config.Snapshot) string {
	if s.Hostname != "" {
		return s.Hostname
	}
	return hostname()
}
