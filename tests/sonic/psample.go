// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// kernelSamples reports whether the kernel has psample.
func kernelSamples() bool {
	_, err := netlink.GenlFamilyGet("psample")
	return err == nil
}

// psampleGroup is the group of samples, as hsflowd's is.
const psampleGroup = 1

// sampleByKernel has the kernel sample packets that leave by the uplinks until ctx is done. syncd makes the
// netdevs of ports again when it starts again.
func (s *sonic) sampleByKernel(ctx context.Context) (wait func() error) {
	done := make(chan error, 1)
	go func() {
		sampled := map[int]bool{}
		for ctx.Err() == nil {
			if err := s.leaf.Do(func() error { return sampleUplinks(sampled) }); err != nil {
				done <- err
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * poll):
			}
		}
		done <- nil
	}()
	return func() error { return <-done }
}

// sampleUplinks has each uplink sampled, but for those that are, by their interface indexes.
func sampleUplinks(sampled map[int]bool) error {
	for i := range uplinks {
		link, err := netlink.LinkByName(portName(i + 1))
		if lost := (netlink.LinkNotFoundError{}); errors.As(err, &lost) {
			continue // it comes
		}
		if err != nil {
			return err
		}
		index := link.Attrs().Index
		if sampled[index] {
			continue
		}
		action := netlink.NewSampleAction()
		action.Group, action.Rate, action.TruncSize = psampleGroup, sampling, 128
		err = errors.Join(
			netlink.QdiscReplace(&netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}, QdiscType: "clsact"}),
			netlink.FilterReplace(&netlink.MatchAll{
				FilterAttrs: netlink.FilterAttrs{LinkIndex: index, Parent: netlink.HANDLE_MIN_EGRESS, Priority: 1, Protocol: unix.ETH_P_ALL},
				Actions:     []netlink.Action{action},
			}))
		if gone := ignore(err, unix.ENODEV); gone != nil {
			return fmt.Errorf("sample %s: %w", portName(i+1), err)
		}
		sampled[index] = err == nil
	}
	return nil
}
