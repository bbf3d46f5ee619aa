// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	"github.com/gopacket/gopacket/layers"

	"sluice/orchagent-ext/cmd/sluice/internal/capture"
	"sluice/orchagent-ext/cmd/sluice/internal/wire"
)

// liveFrames is the frames that pass on devices, as a frameSource.
type liveFrames struct {
	tap     *wire.Tap
	devices []string
	frame   capture.Frame
	before  func()
}

// linkTypes are those of captures. What has another header counts as not RoCEv2.
var linkTypes = map[wire.Kind]layers.LinkType{wire.Other: layers.LinkTypeNull, wire.Ethernet: layers.LinkTypeEthernet, wire.IP: layers.LinkTypeRaw}

// anyDevice is the name for all devices.
const anyDevice = "any"

func openLive(ctx context.Context, devices []string, groups ...[6]byte) (*liveFrames, error) {
	named := devices
	for _, d := range devices {
		if d == anyDevice {
			named = nil
		}
	}
	tap, err := wire.OpenTap(ctx, named, groups...)
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
	f.Info.Timestamp, f.Info.CaptureLength, f.Info.Length, f.Info.InterfaceIndex = got.Time, len(got.Data), got.Length, got.Index
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

// Progress implements frameSource: what passes has no end.
func (l *liveFrames) Progress() (float64, bool) { return 0, false }

func (l *liveFrames) String() string {
	if l.devices == nil {
		return "all devices"
	}
	return strings.Join(l.devices, ", ")
}

// Lost is how many packets the kernel had no room for.
func (l *liveFrames) Lost() uint64 { return l.tap.Lost() }

// Close closes the socket.
func (l *liveFrames) Close() { l.tap.Close() }
