// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/vishvananda/netlink"
)

// kernelHasVRFs reports whether the kernel makes a VRF.
func kernelHasVRFs() bool {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "vrf-probe"
	probe := &netlink.Vrf{LinkAttrs: attrs, Table: firstTable - 1}
	return netlink.LinkAdd(probe) == nil && netlink.LinkDel(probe) == nil
}

// vrfsLast moves the kernel's rule for VRFs (l3mdev, 1000 by default) after those of the ASIC's entries.
func (s *sonic) vrfsLast() error {
	for _, family := range []string{"-4", "-6"} {
		for _, change := range [][]string{{"add", "l3mdev", "pref", "32000"}, {"del", "pref", "1000"}} {
			out, err := exec.Command("ip", append([]string{family, "rule"}, change...)...).CombinedOutput()
			exit := (*exec.ExitError)(nil)
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 2) { // 2: it is so
				return fmt.Errorf("ip rule %v: %w: %s", change, err, out)
			}
		}
	}
	return nil
}

// placeVRF places the load of ports that are in a VRF.
func placeVRF(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, false, func(ctx context.Context) error {
		const name = "VRF"
		if err := s.measure(ctx, name); err != nil {
			return err
		}
		delete(s.report.Placement, name) // the check has it
		aclTable := "SLUICE_PLACE4_" + s.vrf
		if err := s.agree(ctx, name, aclTable); err != nil {
			return err
		}
		bound, err := row(ctx, s.appl, "ACL_TABLE_TABLE", aclTable)
		if err != nil {
			return err
		}
		s.report.equal("VRF: its table is bound to its edge port alone", hostPort, bound["ports"])
		routers, most := map[string]int{}, 0
		for _, rif := range s.asics.of(kindRIF) {
			routers[rif["SAI_ROUTER_INTERFACE_ATTR_VIRTUAL_ROUTER_ID"]]++
		}
		for _, n := range routers {
			most = max(most, n)
		}
		s.report.add("VRF: ASIC_DB has the ports' interfaces in a virtual router of their own", len(routers) > 1 && most == uplinks+1, fmt.Sprintf("%d interfaces in one of several", uplinks+1), fmt.Sprintf("%d in one of %d", most, len(routers)))
		if err := s.disable(ctx); err != nil {
			return err
		}
		if _, err := s.within(ctx, "VRF: all entries are gone after placement is disabled", 3*time.Second, s.none); err != nil {
			return err
		}
		return s.nothingLeft(ctx, name)
	})
}
