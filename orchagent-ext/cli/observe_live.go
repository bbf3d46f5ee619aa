// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/capture/link"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/socket"
)

// liveFrames is the frames that pass on devices, as a frameSource.
type liveFrames struct {
	tap     *socket.Tap
	devices []string
	frame   capture.Frame
	before  func()
}

// linkUser is the first of the link types that users define.
const linkUser link.Type = 147

// linkTypes are those of captures. Packets with another header count as other
// than RoCEv2.
var linkTypes = map[socket.Kind]link.Type{socket.Other: linkUser, socket.Ethernet: link.Ethernet, socket.IP: link.Raw}

// openLive opens devices for reading frames; a list with "any" means all devices. It
// takes CAP_NET_RAW.
func openLive(ctx context.Context, devices []string, groups ...[6]byte) (*liveFrames, error) {
	named := devices
	for _, d := range devices {
		if d == kit.AnyDevice {
			named = nil
		}
	}
	tap, err := socket.OpenTap(ctx, named, groups...)
	if err != nil {
		return nil, err
	}
	return &liveFrames{tap: tap, devices: named, before: func() {}}, nil
}

// Next implements frameSource. It fails soon after the context ends.
func (l *liveFrames) Next() (*capture.Frame, error) {
	got, err := l.tap.Receive(l.before)
	if err != nil {
		return nil, err
	}
	f := &l.frame
	f.Number++
	f.Data, f.Time, f.Link = got.Data, got.Time, linkTypes[got.Kind]
	f.Length, f.Index = got.Length, got.Index
	f.In, f.Out = got.Device, ""
	if got.Outgoing {
		f.In, f.Out = "", got.Device
	}
	return f, nil
}

// BeforeWaiting implements frameSource.
func (l *liveFrames) BeforeWaiting(f func()) { l.before = f }

// Stays implements frameSource: a frame is in the one buffer.
func (l *liveFrames) Stays() bool { return false }

// Progress implements frameSource: live traffic is endless.
func (l *liveFrames) Progress() (float64, bool) { return 0, false }

// String returns the names of the devices for messages.
func (l *liveFrames) String() string {
	if l.devices == nil {
		return "all devices"
	}
	return strings.Join(l.devices, ", ")
}

// Lost returns how many packets the kernel dropped because the ring was full.
func (l *liveFrames) Lost() uint64 { return l.tap.Lost() }

// Close closes the socket.
func (l *liveFrames) Close() error {
	l.tap.Close()
	return nil
}
