// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Prefixes returns the prefixes of IPv6 that the table main has routes to, with the names
// of the links that lead there: those on links of this switch, too. The default route is
// left out, and so are addresses that are local to a link.
func Prefixes() (links map[netip.Prefix][]string, err error) {
	index := map[netip.Prefix][]int{}
	for range attempts {
		clear(index)
		err = routes(unix.AF_INET6, unix.RT_TABLE_MAIN, func(r *route) {
			p := r.prefix(unix.AF_INET6).Masked()
			if r.usable() != nil || r.bits == 0 || !p.Addr().IsGlobalUnicast() {
				return
			}
			for i := range r.members {
				index[p] = append(index[p], r.members[i].Index)
			}
		})
		if !errors.Is(err, errMoved) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("prefixes: %w", err)
	}
	all, err := netlink.LinkList()
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("links: %w", err)
	}
	names := make(map[int]string, len(all))
	for _, l := range all {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	links = make(map[netip.Prefix][]string, len(index))
	for p, on := range index {
		for _, i := range on {
			if name := names[i]; name != "" && name != "lo" {
				links[p] = append(links[p], name)
			}
		}
	}
	return links, nil
}
