// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/health"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// errEnough ends a scan after --count packets.
var errEnough = errors.New("enough were shown")

// packetFilter selects the packets that are shown. The zero value selects all.
type packetFilter struct {
	qps                  []uint32
	src, dst             []netip.Prefix
	opcodes              []roce.Opcode // nil: all
	ecn                  []string
	nak, cnp, retransmit bool // one of the events that are asked for is enough
	not                  bool // the packets that do not match
	bpf                  bpfFlag
	since                sinceFlag
	begun                bool // the time of since has come, by the last frame that has a time
}

// addPacketFilter adds the flags that choose packets. Conditions of one flag are
// alternatives; those of different flags must all hold, but for --nak, --cnp and
// --retransmit, which are alternatives of each other.
func addPacketFilter(flags *pflag.FlagSet, f *packetFilter) {
	flags.Var(listFlag[uint32]{&f.qps, "number", parseQP}, "qp", "only packets to or from this queue pair, decimal or with 0x; again for more")
	flags.Var(listFlag[netip.Prefix]{&f.src, "prefix", parsePrefix}, "src", "only from this address or prefix, of the path or the session; again for more")
	flags.Var(listFlag[netip.Prefix]{&f.dst, "prefix", parsePrefix}, "dst", "only to this address or prefix; again for more")
	flags.Var(opcodeFlag{&f.opcodes}, "opcode", "only opcodes with this in their name, such as write or RC_ACKNOWLEDGE, or of this number; again for more")
	flags.Var(listFlag[string]{&f.ecn, strings.Join(ecnNames[:], "|"), parseECN}, "ecn", "only with this ECN codepoint; again for more")
	flags.BoolVar(&f.nak, "nak", false, "only NAKs (with --cnp or --retransmit: those, too)")
	flags.BoolVar(&f.cnp, "cnp", false, "only CNPs (with --nak or --retransmit: those, too)")
	flags.BoolVar(&f.retransmit, "retransmit", false, "only packets that were sent again (with --nak or --cnp: those, too)")
	flags.BoolVar(&f.not, "not", false, "the packets that the filters above leave out")
	flags.Var(&f.bpf, "bpf", "only frames that this filter of tcpdump passes: an expression, which tcpdump compiles, or what tcpdump -ddd prints")
	flags.Var(&f.since, "since", "only from this time on: 2026-11-23T10:00:00Z, or a span after the first packet, such as 1.5s")
}

// check returns an error for --not without a filter that it turns round.
func (f *packetFilter) check() error {
	if f.not && f.qps == nil && f.src == nil && f.dst == nil && f.opcodes == nil && f.ecn == nil && !f.events() {
		return errors.New("--not needs a filter whose packets are left out")
	}
	return nil
}

// empty reports whether the filter passes every packet.
func (f *packetFilter) empty() bool {
	return f.bpf.machines == nil && f.since == sinceFlag{} && !f.not && f.qps == nil && f.src == nil && f.dst == nil && f.opcodes == nil && f.ecn == nil && !f.events()
}

// flowsOnly reports whether the filter selects whole flows only.
func (f *packetFilter) flowsOnly() bool {
	return f.bpf.machines == nil && f.since == sinceFlag{} && f.qps == nil && f.opcodes == nil && f.ecn == nil && !f.events()
}

// events reports whether the filter selects events only.
func (f *packetFilter) events() bool { return f.nak || f.cnp || f.retransmit }

// matches reports whether a packet is shown. from is the source of its source
// queue pair; e is the event that its PSN means.
func (f *packetFilter) matches(p *roce.Packet, srcQP uint32, from flow.Provenance, e health.Event) bool {
	return f.selects(p, srcQP, from, e) != f.not
}

// selects is matches without --not.
func (f *packetFilter) selects(p *roce.Packet, srcQP uint32, from flow.Provenance, e health.Event) bool {
	if f.qps != nil && !slices.Contains(f.qps, p.DestQP()) && (from == flow.None || !slices.Contains(f.qps, srcQP)) {
		return false
	}
	return f.between(p) &&
		(f.opcodes == nil || slices.Contains(f.opcodes, p.Opcode())) &&
		(f.ecn == nil || slices.Contains(f.ecn, ecnNames[p.TrafficClass()&3])) &&
		f.event(p, e)
}

// matchesFlow reports whether a packet's queue pair and addresses, which are the
// same in all packets of a flow, match.
func (f *packetFilter) matchesFlow(p *roce.Packet) bool {
	return f.between(p) != f.not
}

// between reports whether a packet's addresses match.
func (f *packetFilter) between(p *roce.Packet) bool {
	return (f.src == nil || within(f.src, p.PathSrc(), p.Src())) && (f.dst == nil || within(f.dst, p.PathDst(), p.Dst()))
}

// passes reports whether a frame may be shown by --bpf and --since; start is the time of the
// first one. A frame without a time is as late as the one before it.
func (f *packetFilter) passes(frame *capture.Frame, start time.Time) (bool, error) {
	if !frame.Time.IsZero() {
		f.begun = !frame.Time.Before(f.since.from(start))
	}
	if f.since != (sinceFlag{}) && !f.begun {
		return false, nil
	}
	return f.bpf.matches(frame)
}

// ofFlows returns matchesFlow; nil where every packet matches.
func (f *packetFilter) ofFlows() func(*roce.Packet) bool {
	if f.empty() {
		return nil
	}
	return f.matchesFlow
}

// event reports whether a packet is one of the selected events.
func (f *packetFilter) event(p *roce.Packet, e health.Event) bool {
	if !f.events() {
		return true
	}
	h, ok := p.AETH()
	return f.retransmit && e.Retransmitted() || f.cnp && p.Opcode() == roce.CNP || f.nak && ok && h.NAK() != roce.NotNAK
}

// matchesMessage reports whether a notification other than RoCEv2 is shown: it
// has addresses only.
func (f *packetFilter) matchesMessage(e *notify.Envelope) bool {
	if f.qps != nil || f.opcodes != nil || f.ecn != nil || f.events() {
		return f.not
	}
	return (within(f.src, e.Src) && within(f.dst, e.Dst)) != f.not
}

// within reports whether one of the addresses is in one of the prefixes; an empty
// list of prefixes has them all.
func within(prefixes []netip.Prefix, addrs ...netip.Addr) bool {
	return prefixes == nil || slices.ContainsFunc(prefixes, func(p netip.Prefix) bool {
		return slices.ContainsFunc(addrs, p.Contains)
	})
}

// parseQP returns the number of a queue pair, 24 bits.
func parseQP(s string) (uint32, error) {
	qp, err := strconv.ParseUint(s, 0, 24)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of 24 bits, decimal or with 0x", s)
	}
	return uint32(qp), nil
}

// parsePrefix returns a prefix; an address is the prefix of its full length.
func parsePrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, fmt.Errorf("%q is not an address or a prefix", s)
	}
	return p.Masked(), nil
}

// parseECN returns an ECN codepoint by its name in ecnNames.
func parseECN(s string) (string, error) {
	if !slices.Contains(ecnNames[:], s) {
		return "", fmt.Errorf("%q is not one of %s", s, strings.Join(ecnNames[:], ", "))
	}
	return s, nil
}

// listFlag is a flag that can be given several times, or with commas.
type listFlag[T any] struct {
	values *[]T
	kind   string
	parse  func(string) (T, error)
}

// Set implements [pflag.Value]: it appends values that are separated by commas. The first
// wrong one is the error.
func (f listFlag[T]) Set(s string) error {
	for _, one := range strings.Split(s, ",") {
		v, err := f.parse(one)
		if err != nil {
			return err
		}
		*f.values = append(*f.values, v)
	}
	return nil
}

// String implements [pflag.Value].
func (f listFlag[T]) String() string { return strings.Trim(fmt.Sprint(*f.values), "[]") }

// Type implements [pflag.Value].
func (f listFlag[T]) Type() string { return f.kind }

// opcodeFlag takes opcodes by number, or by a part of their name.
type opcodeFlag struct{ values *[]roce.Opcode }

// Set implements [pflag.Value]: a number (decimal or with 0x), or a part of the names of
// opcodes in any case, which adds each known opcode with it.
func (f opcodeFlag) Set(s string) error {
	for _, one := range strings.Split(s, ",") {
		if n, err := strconv.ParseUint(one, 0, 8); err == nil {
			*f.values = append(*f.values, roce.Opcode(n))
			continue
		}
		part, before := strings.ToUpper(one), len(*f.values)
		for n := range 256 {
			if o := roce.Opcode(n); o.Known() && part != "" && strings.Contains(o.String(), part) {
				*f.values = append(*f.values, o)
			}
		}
		if len(*f.values) == before {
			return fmt.Errorf("%q is in no opcode's name, such as RC_SEND_ONLY, UD_SEND_ONLY, RC_RDMA_WRITE_FIRST, RC_RDMA_READ_REQUEST, RC_ACKNOWLEDGE, CNP, and is no number of 8 bits", one)
		}
	}
	return nil
}

// String implements [pflag.Value]; a list of up to 256 opcodes is too long as a default
// in help.
func (f opcodeFlag) String() string { return "" }

// Type implements [pflag.Value].
func (f opcodeFlag) Type() string { return "name" }
