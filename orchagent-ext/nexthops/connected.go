// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Connected returns the prefixes of IPv6 that are on links of this switch, with the name of
// the link: routes of the table main without a gateway, but for addresses that mean nothing
// on another link.
func Connected() (links map[netip.Prefix]string, err error) {
	index := map[netip.Prefix]int{}
	for range attempts {
		clear(index)
		err = routes(unix.AF_INET6, func(r *route) {
			p := r.prefix(unix.AF_INET6)
			if r.usable() != nil || len(r.members) != 1 || r.members[0].Gateway.IsValid() || r.bits == 0 || !p.Addr().IsGlobalUnicast() {
				return
			}
			index[p.Masked()] = r.members[0].Index
		})
		if !errors.Is(err, errMoved) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("prefixes on links: %w", err)
	}
	all, err := netlink.LinkList()
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("links: %w", err)
	}
	names := make(map[int]string, len(all))
	for _, l := range all {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	links = make(map[netip.Prefix]string, len(index))
	for p, i := range index {
		if names[i] != "" && names[i] != "lo" {
			links[p] = names[i]
		}
	}
	return links, nil
}
