// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"bytes"
	"math/bits"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// Every RoCEv2 packet of the captures, field by field. tshark does not know the
// CNP: its BTH is compared here, its ICRC with scapy.
func TestTsharkAgreesOnCaptures(t *testing.T) {
	t.Parallel()
	needTshark(t)
	for name, want := range captures {
		seen := 0
		dissected := tshark(t, filepath.Join("..", "..", "..", "tests", "captures", name))
		for i, frame := range readCapture(t, name) {
			var p roce.Packet
			if err := p.Parse(frame, len(frame)); err != nil {
				if len(dissected[i]) != 0 {
					t.Errorf("%s, frame %d: %v, and tshark found %v", name, i+1, err, dissected[i])
				}
				continue
			}
			seen++
			if d := diff(tsharkFinds(&p), dissected[i]); d != "" {
				t.Errorf("%s, frame %d, %v: we (-), tshark (+):\n%s", name, i+1, p.Opcode(), d)
			}
		}
		if seen != want {
			t.Errorf("%s: %d packets compared, want %d", name, seen, want)
		}
	}
}

// hexFields are those that tshark prints as hexadecimal octets.
var hexFields = map[string]bool{"infiniband.reserved": true, "infiniband.immdt": true, "infiniband.ieth": true}

// tsharkFields are the fields compared. Where a field occurs more than once,
// such as infiniband.reserved, the first one is compared: octet 4 of the BTH.
var tsharkFields = []string{
	"infiniband.bth.opcode", "infiniband.bth.se", "infiniband.bth.m", "infiniband.bth.padcnt", "infiniband.bth.tver",
	"infiniband.bth.p_key", "infiniband.reserved", "infiniband.bth.destqp", "infiniband.bth.a",
	"infiniband.bth.reserved7", "infiniband.bth.psn",
	"infiniband.deth.q_key", "infiniband.deth.srcqp",
	"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen",
	"infiniband.atomiceth.swapdt", "infiniband.atomiceth.cmpdt",
	"infiniband.aeth.syndrome", "infiniband.aeth.msn", "infiniband.atomicacketh.origremdt",
	"infiniband.immdt", "infiniband.ieth", "infiniband.invariant.crc",
	"infiniband.mad.attributeid",
	"infiniband.cm.req", "infiniband.cm.req.localqpn", "infiniband.cm.req.startpsn",
	"infiniband.cm.rep", "infiniband.cm.rep.remotecommid", "infiniband.cm.rep.localqpn", "infiniband.cm.rep.startpsn",
	"infiniband.cm.rtu.localcommid", "infiniband.cm.rtu.remotecommid",
	"infiniband.cm.dreq.localcommid", "infiniband.cm.dreq.remotecommid", "infiniband.cm.req.remoteqpneecn",
	"infiniband.cm.drsp.localcommid", "infiniband.cm.drsp.remotecommid",
}

// unknownToTshark says of which opcodes tshark 4.0 dissects the BTH only: it
// has no headers and no ICRC for them.
func unknownToTshark(o roce.Opcode) bool {
	return o == roce.CNP || o == roce.RCFlush || o == roce.RCAtomicWrite || o.Service() == roce.ServiceXRC
}

func needTshark(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed: ", err)
	}
}

// tshark dissects a capture file: for each frame, the fields that it found.
func tshark(t *testing.T, file string) []map[string]uint64 {
	t.Helper()
	args := []string{
		"-n", "-r", file, "-T", "fields", "-E", "occurrence=f", "-E", "separator=;",
		"-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-e", "udp.checksum.status", "-e", "ip.checksum.status",
		// These take the packet away by its UDP source port, or misread the payload.
		"--disable-protocol", "tftp", "--disable-protocol", "rpcordma",
		"--disable-heuristic", "eth_over_ib", "--disable-heuristic", "mellanox_eoib",
	}
	for _, f := range tsharkFields {
		args = append(args, "-e", f)
	}
	var stderr bytes.Buffer
	cmd := exec.Command("tshark", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark %s: %v\n%s", file, err, &stderr)
	}
	var frames []map[string]uint64
	for line := range strings.Lines(string(out)) {
		values := strings.Split(strings.TrimSuffix(line, "\n"), ";")
		for _, status := range values[:2] { // 1 good, 3 not present, none where there is no such header
			if status != "1" && status != "3" && status != "" {
				t.Errorf("%s, frame %d: status %s of the checksum of UDP or IPv4", file, len(frames)+1, status)
			}
		}
		frames = append(frames, parseFields(t, values[2:]))
	}
	return frames
}

func parseFields(t *testing.T, values []string) map[string]uint64 {
	t.Helper()
	found := map[string]uint64{}
	for i, v := range values {
		if v == "" {
			continue
		}
		base, name := 0, tsharkFields[i]
		if hexFields[name] {
			base = 16
		}
		n, err := strconv.ParseUint(v, base, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found[name] = n
	}
	return found
}

// tsharkFinds is what we say that tshark finds in the packet.
func tsharkFinds(p *roce.Packet) map[string]uint64 {
	h := p.BTH()
	f := map[string]uint64{
		"infiniband.bth.opcode": uint64(h.Opcode), "infiniband.bth.se": number(h.Solicited), "infiniband.bth.m": number(h.MigReq),
		"infiniband.bth.padcnt": uint64(h.Pad), "infiniband.bth.tver": uint64(h.TVer), "infiniband.bth.p_key": uint64(h.PKey),
		"infiniband.reserved":   number(h.FECN)<<7 | number(h.BECN)<<6 | uint64(h.Resv6),
		"infiniband.bth.destqp": uint64(h.DestQP), "infiniband.bth.a": number(h.AckReq),
		"infiniband.bth.reserved7": uint64(h.Resv7), "infiniband.bth.psn": uint64(h.PSN),
	}
	if unknownToTshark(h.Opcode) {
		return f
	}
	if h, ok := p.DETH(); ok {
		f["infiniband.deth.q_key"], f["infiniband.deth.srcqp"] = uint64(h.QKey), uint64(h.SrcQP)
	}
	if h, ok := p.RETH(); ok {
		f["infiniband.reth.va"], f["infiniband.reth.r_key"], f["infiniband.reth.dmalen"] = h.VA, uint64(h.RKey), uint64(h.Length)
	}
	if h, ok := p.AtomicETH(); ok {
		f["infiniband.reth.va"], f["infiniband.reth.r_key"] = h.VA, uint64(h.RKey)
		f["infiniband.atomiceth.swapdt"], f["infiniband.atomiceth.cmpdt"] = h.SwapAdd, h.Compare
	}
	if h, ok := p.AETH(); ok {
		f["infiniband.aeth.syndrome"], f["infiniband.aeth.msn"] = uint64(h.Syndrome), uint64(h.MSN)
	}
	if h, ok := p.AtomicAckETH(); ok {
		f["infiniband.atomicacketh.origremdt"] = h.Original
	}
	if h, ok := p.ImmDt(); ok {
		f["infiniband.immdt"] = uint64(h.Data)
	}
	if h, ok := p.IETH(); ok {
		f["infiniband.ieth"] = uint64(h.RKey)
	}
	icrc, _, _ := p.ICRC() // tshark shows its octets in the order of the packet
	f["infiniband.invariant.crc"] = uint64(bits.ReverseBytes32(icrc))
	if m, ok := p.CM(); ok {
		tsharkFindsCM(f, m)
	}
	return f
}

func tsharkFindsCM(f map[string]uint64, m roce.CM) {
	f["infiniband.mad.attributeid"] = uint64(m.Attribute)
	local, remote := uint64(m.LocalCommID), uint64(m.RemoteCommID)
	switch m.Attribute {
	case roce.CMReq:
		f["infiniband.cm.req"], f["infiniband.cm.req.localqpn"], f["infiniband.cm.req.startpsn"] = local, uint64(m.LocalQPN), uint64(m.StartingPSN)
	case roce.CMRep:
		f["infiniband.cm.rep"], f["infiniband.cm.rep.remotecommid"] = local, remote
		f["infiniband.cm.rep.localqpn"], f["infiniband.cm.rep.startpsn"] = uint64(m.LocalQPN), uint64(m.StartingPSN)
	case roce.CMRtu:
		f["infiniband.cm.rtu.localcommid"], f["infiniband.cm.rtu.remotecommid"] = local, remote
	case roce.CMDreq:
		f["infiniband.cm.dreq.localcommid"], f["infiniband.cm.dreq.remotecommid"] = local, remote
		f["infiniband.cm.req.remoteqpneecn"] = uint64(m.RemoteQPN)
	case roce.CMDrep:
		f["infiniband.cm.drsp.localcommid"], f["infiniband.cm.drsp.remotecommid"] = local, remote
	}
}

func number(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}
