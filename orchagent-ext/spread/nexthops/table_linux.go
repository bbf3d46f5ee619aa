// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Table returns the groups of the prefixes that the table main has routes to, of both
// families, with the default routes. Prefixes that are local to a link are left out, and
// so are those whose packets lack a next hop.
func Table() (groups map[netip.Prefix]Result, err error) {
	for range attempts {
		if groups, err = table(); !errors.Is(err, errMoved) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("routes: %w", err)
	}
	return groups, nil
}

// table reads the groups of all prefixes once; errMoved as for readAll.
func table() (map[netip.Prefix]Result, error) {
	best := map[netip.Prefix]route{}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		err := routes(family, unix.RT_TABLE_MAIN, func(r *route) {
			p := r.prefix(family).Masked()
			if r.usable() != nil || r.bits > 0 && !p.Addr().IsGlobalUnicast() {
				return
			}
			if is, found := best[p]; !found || r.metric < is.metric {
				best[p] = *r
			}
		})
		if err != nil {
			return nil, err
		}
	}
	groups, known := make(map[netip.Prefix]Result, len(best)), alike{}
	for p, r := range best {
		g, err := known.of(&r, p.Addr())
		if err != nil {
			return nil, err
		}
		groups[p] = g
	}
	return groups, nil
}
