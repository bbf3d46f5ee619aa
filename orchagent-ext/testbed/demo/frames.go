// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"time"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/lift"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/traffic"
	"sluice/orchagent-ext/wire/roce"
)

// liftPrefix is the prefix for the addresses of the captures, the same as that of
// command lift6.
var liftPrefix = netip.MustParsePrefix("2001:db8:64::/96")

// sessions is the traffic of one host pair whose queue pairs share a UDP source
// port, so that their 5-tuple is the same.
var sessions = traffic.Config{Pairs: 1, QPs: 64, Packets: 64 * 100, Payload: 1024, Seed: 1}

// generated returns the packets that host A sends to host B.
func generated(a *fabric.Interface) ([][]byte, error) {
	var frames [][]byte
	var p roce.Packet
	var first netip.Addr
	err := traffic.Generate(sessions, func(_ time.Time, frame []byte) error {
		if err := p.Parse(frame, len(frame)); err != nil {
			return err
		}
		if !first.IsValid() {
			first = p.Src() // host A begins
		}
		if p.Src() == first {
			frames = append(frames, addressed(frame, len(p.LinkHeader()), a))
		}
		return nil
	})
	return frames, err
}

// captured returns the RoCEv2 packets of every capture in a folder, carried over
// into IPv6.
func captured(folder string, a *fabric.Interface) (frames [][]byte, files int, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*-ipv4.pcap"))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no capture (*-ipv4.pcap) in folder %s", folder)
	}
	if err != nil {
		return nil, 0, err
	}
	lifter, err := lift.NewLifter(liftPrefix)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		if frames, err = appendLifted(frames, name, lifter, a); err != nil {
			return nil, 0, err
		}
	}
	return frames, len(names), nil
}

// appendLifted appends the RoCEv2 packets of a capture, carried over into IPv6 and addressed to
// interface a. Packets other than RoCEv2 are left out; one that cannot be lifted is an
// error.
func appendLifted(frames [][]byte, name string, lifter *lift.Lifter, a *fabric.Interface) ([][]byte, error) {
	r, err := capture.Open(context.Background(), name, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var p roce.Packet
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return frames, nil
		}
		if err != nil {
			return nil, err
		}
		if f.Parse(&p, roce.LookLink) != nil {
			continue // other than RoCEv2
		}
		frame, err := lifter.Lift(&p)
		if err != nil {
			return nil, fmt.Errorf("%s: packet %d: %w", name, f.Number, err)
		}
		if err := p.Parse(frame, len(frame)); err != nil {
			return nil, fmt.Errorf("%s: packet %d: %w", name, f.Number, err)
		}
		frames = append(frames, addressed(frame, len(p.LinkHeader()), a))
	}
}

// addressed returns a copy of the packet behind a link header, from host A to the
// router at the other end of its link.
func addressed(frame []byte, linkLen int, a *fabric.Interface) []byte {
	eth := roce.Ethernet{Dst: roce.MAC(a.Peer().MAC), Src: roce.MAC(a.MAC), EtherType: roce.EtherTypeIPv6}
	return append(eth.Append(nil), bytes.Clone(frame[linkLen:])...)
}
