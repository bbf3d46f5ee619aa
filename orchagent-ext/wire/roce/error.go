// SPDX-License-Identifier: Apache-2.0

package roce

import "errors"

// ErrNotRoCE is the error for a packet whose headers are well formed as far as
// they were read, and that carries another protocol, another port, or a fragment
// other than the first.
var ErrNotRoCE = errors.New("roce: not a RoCEv2 packet")

// Header names the header in which parsing stopped. The values are in memory only and may
// change between versions; String is stable.
type Header uint8

// The headers that Parse knows, from the outside in.
const (
	HeaderEthernet Header = iota
	HeaderLink            // of another link layer
	HeaderVLAN
	HeaderTag // between Ethernet and IP, other than VLAN: such as VN-Tag
	HeaderLLC
	HeaderPBB
	HeaderPPP // and PPPoE
	HeaderIPv4
	HeaderIPv6
	HeaderHopByHop
	HeaderDestOptions
	HeaderRouting
	HeaderFragment
	HeaderAH
	HeaderVXLAN
	HeaderGeneve
	HeaderGRE
	HeaderERSPAN
	HeaderMirror // NVIDIA's, of GRE protocol type 0x8949
	HeaderMPLS
	HeaderUDP
	HeaderBTH
	HeaderXRCETH
	HeaderDETH
	HeaderRETH
	HeaderAtomicETH
	HeaderAETH
	HeaderAtomicAckETH
	HeaderImmDt
	HeaderIETH
	HeaderFETH
	HeaderCNP
	HeaderICRC
	numHeaders
)

// headerNames are the names of headers in errors.
var headerNames = [numHeaders]string{
	"Ethernet header", "link-layer header", "VLAN tag", "tag", "LLC header", "PBB header", "PPP header", "IPv4 header", "IPv6 header",
	"IPv6 hop-by-hop options", "IPv6 destination options", "IPv6 routing header", "IPv6 fragment header", "authentication header",
	"VXLAN header", "Geneve header", "GRE header", "ERSPAN header", "mirror header", "MPLS labels",
	"UDP header", "BTH", "XRCETH", "DETH", "RETH", "AtomicETH", "AETH", "AtomicAckETH", "ImmDt", "IETH", "FETH",
	"CNP reserved octets", "ICRC",
}

// String returns the header's name as IBTA or its RFC writes it. h is one of the
// constants; another value panics.
func (h Header) String() string { return headerNames[h] }

// Problem is the reason why a header could not be parsed. Together with a [Header] it is
// the whole of an [Error], and a label of the counters of packets that were not parsed.
type Problem uint8

// The problems of a header.
const (
	// the packet ends inside the header
	Truncated Problem = iota
	// the version field is not the one that the layer before announced
	BadVersion
	// a length field contradicts the packet or the header around it
	BadLength
	TooMany // more headers of this kind than a sane packet has
	BadPad  // the BTH's pad count is larger than the payload
	Cut     // the header was on the wire, and the capture or a mirror left it out
	numProblems
)

// problemNames are the names of problems in errors.
var problemNames = [numProblems]string{
	"truncated", "wrong version", "length contradicts the packet", "nested too deep", "pad count larger than the payload", "cut",
}

// String returns the problem as words for an operator. p is one of the constants; another
// value panics.
func (p Problem) String() string { return problemNames[p] }

// Error is the header of a packet that could not be parsed, and the reason. Its
// values are shared constants, so that a flood of bad packets costs constant
// memory. Compare by [errors.As] and the fields, or by pointer: equal errors are the same
// pointer.
type Error struct {
	Header  Header
	Problem Problem
}

// Error returns "roce: HEADER: PROBLEM". The text has neither addresses nor offsets, so
// there are as many texts as values.
func (e *Error) Error() string { return "roce: " + e.Header.String() + ": " + e.Problem.String() }

// parseErrors has every value of Error, so that a bad packet costs no allocation.
var parseErrors = func() (t [numHeaders][numProblems]Error) {
	for h := range t {
		for p := range t[h] {
			t[h][p] = Error{Header(h), Problem(p)}
		}
	}
	return t
}()

// fail returns the shared [*Error] of a header and a problem; it allocates zero
// octets.
func fail(h Header, p Problem) error { return &parseErrors[h][p] }
