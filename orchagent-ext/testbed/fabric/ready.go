// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The kernel reports a link as up, or an address as there, some time before
// packets pass: it finishes both in the background. The waits here take a
// millisecond as a rule.
const (
	readyPatience = time.Minute // of a machine that has much else to do
	readyPoll     = 100 * time.Microsecond
)

// running waits until the interface's queue is in service: until then the kernel
// drops packets that it is to send.
func (i *Interface) running() error {
	var link netlink.Link
	err := poll(func() (done bool, err error) {
		link, err = i.Node.netlink.LinkByIndex(i.Index)
		if err != nil {
			return false, err
		}
		// A TAP device stays in the state "unknown" while it runs.
		state := link.Attrs().OperState
		return state == netlink.OperUp || state == netlink.OperUnknown && link.Type() == "tuntap" && link.Attrs().RawFlags&unix.IFF_RUNNING != 0, nil
	})
	if err == nil {
		// That became visible while the kernel, under its lock, was about to bring the
		// queue into service. It has, when another change under that lock is done.
		err = i.Node.netlink.LinkSetUp(link)
	}
	if err != nil {
		return fmt.Errorf("wait for %s of %s to run: %w", i.Name, i.Node.Name, err)
	}
	return nil
}

// AwaitCarrier waits until the interface's node acts on a carrier that [Interface.Set] of the other end
// gave or took: routes over a link without one are out of use from then on. Linux learns of a loss up
// to a second later, and packets are lost until it does.
func (i *Interface) AwaitCarrier(up bool) error {
	if up {
		return i.running()
	}
	var link netlink.Link
	err := poll(func() (done bool, err error) {
		if link, err = i.Node.netlink.LinkByIndex(i.Index); err != nil {
			return false, err
		}
		return link.Attrs().RawFlags&unix.IFF_RUNNING == 0, nil
	})
	if err == nil {
		err = i.Node.netlink.LinkSetUp(link) // it is up: this waits for the kernel's lock, as in running
	}
	if err != nil {
		return fmt.Errorf("wait for %s of %s to lose its carrier: %w", i.Name, i.Node.Name, err)
	}
	return nil
}

// local waits until the kernel takes packets to an address of the interface for
// its own.
func (i *Interface) local(a netip.Addr) error {
	err := poll(func() (done bool, err error) {
		routes, err := i.Node.netlink.RouteGetWithOptions(a.AsSlice(), &netlink.RouteGetOptions{OifIndex: i.Index})
		return len(routes) == 1 && routes[0].Type == unix.RTN_LOCAL, err
	})
	if err != nil {
		return fmt.Errorf("wait for address %s on %s of %s: %w", a, i.Name, i.Node.Name, err)
	}
	return nil
}

// poll calls look until it is done, fails, or the time is up.
func poll(look func() (done bool, err error)) error {
	for deadline := time.Now().Add(readyPatience); ; time.Sleep(readyPoll) {
		if done, err := look(); done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v", readyPatience)
		}
	}
}
