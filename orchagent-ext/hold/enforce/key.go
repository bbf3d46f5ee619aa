// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"net/netip"

	"sluice/orchagent-ext/wire/notify"
)

// Key identifies a demand. A newer demand replaces the one with the same key; demands
// with different keys hold beside each other.
type Key struct {
	Kind notify.Kind // KindPFCM or KindPPFC
	// address that the message came from: of the neighbor, or of the congested node
	From  netip.Addr
	Port  uint32 // PFCM: interface index of the port that it came in by; PPFC: 0
	Queue uint16 // the congested queue; PPFC over ICMP: the congested port

	Stream uint16 // PFCM

	// The flow or flows that it is about.
	Source, Destination netip.Addr
	Flow                notify.FlowIdentifier // PPFC
}

// PFCMKey returns the key of a PFCM that came from a neighbor in by a port. port is the
// interface index. The addresses in the message are part of it: a Stream ID of 16 bits names flows of
// other addresses, too.
func PFCMKey(m *notify.PFCM, from netip.Addr, port uint32) Key {
	return Key{Kind: notify.KindPFCM, From: from, Port: port, Queue: uint16(m.QueueID), Stream: m.StreamID, Source: m.Source, Destination: m.Destination}
}

// PPFCKey returns the key of a PPFC that came from an address, which [MaySend] allows.
//
// Decision: draft-xz leaves several notifications about one flow open. The address that
// the message came from, and the congested port or queue, are part of the key, so that a
// node ends only its own demands. The Router Identifier in the message is left out: its
// sender can write any address there.
//
//conformance:draft-xz/map-qp
func PPFCKey(m *notify.PPFC, from netip.Addr) Key {
	k := Key{Kind: notify.KindPPFC, From: from, Queue: m.CongestionPort,
		Source: m.Source, Destination: m.Destination, Flow: m.Flow}
	if m.Transport == notify.OverUDP {
		k.Queue = m.CongestionQID
	}
	return k
}

// MaySend reports whether a PPFC from an address is to be looked at: the address is its
// Router Identifier, and in one of the prefixes of SLUICE_PPFC_PEER.
//
//conformance:draft-xz/router-id draft-xz/security
func MaySend(m *notify.PPFC, from netip.Addr, peers []netip.Prefix) bool {
	if m.RouterID != from {
		return false
	}
	for _, p := range peers {
		if p.Contains(from) {
			return true
		}
	}
	return false
}

// base returns the key without the parts in which notifications about one flow can
// differ: the demands of one base lie in one list.
func (k Key) base() Key {
	k.Flow = notify.FlowIdentifier{}
	return k
}

// agrees reports whether two Flow Identifiers of one address pair name the same flow. A
// source queue pair counts where both have one: so a resume with it ends the stop that
// was sent before it was learned. An identifier of all flows of the pair, or of a
// connection by its ports, is a demand of its own, and leaves the others.
func agrees(a, b notify.FlowIdentifier) bool {
	if a.Form != b.Form {
		return false
	}
	if a.Form == notify.QPs && (a.SrcQP == 0 || b.SrcQP == 0) {
		a.SrcQP, b.SrcQP = 0, 0
	}
	return a == b
}

// learned reports whether a identifies the same flow as b, but for a source queue pair
// that only one of them has.
func learned(a, b notify.FlowIdentifier) bool {
	return a.Form == notify.QPs && b.Form == notify.QPs && a != b && agrees(a, b)
}
