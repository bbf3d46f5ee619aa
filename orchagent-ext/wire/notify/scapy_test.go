// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"
)

// python is the interpreter that the distribution's scapy package serves.
const python = "/usr/bin/python3"

// judge reads a golden frame a line, with scapy's dissectors and struct, and
// prints what it finds as a JSON object. Scapy's contrib.roce computes the ICRC
// over IPv4 only; over IPv6 the fields are masked here, in scapy's own layers,
// as IBTA annex A17 says.
const judge = `
import ipaddress, json, struct, sys, zlib
from scapy.compat import raw
from scapy.layers.l2 import Ether
from scapy.layers.inet import IP, UDP, ICMP
from scapy.layers.inet6 import in6_chksum, IPv6, IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt
from scapy.contrib.roce import BTH

def address(b):
    return str(ipaddress.ip_address(b))

def pfcm(b):
    stream, queue, action, time = struct.unpack("!HBBH", b[:6])
    b = b[-32:]
    return {"stream_id": stream, "queue_id": queue, "action": ["cancel", "pause", "reduce", "reserved"][action >> 6],
            "reduction_percent": {0: 0, 1: 100, 2: action & 63}[action >> 6], "time_us": time,
            "destination": address(b[:16]), "source": address(b[16:])}

def ppfc(b, size, where, router):
    flags, priority, at, reserved, time = struct.unpack("!BBHHH", b[:8])
    d = {"flags": flags >> 2, "pt": ["stop", "resume", "alarm", "hold"][flags & 3], "priority": priority, where: at,
         "pause_duration_us": time, "source": address(b[8:8 + size]), "destination": address(b[8 + size:8 + 2 * size])}
    b = b[8 + 2 * size:]
    if router:
        d["router_id"], b = address(b[:size]), b[size:]
    d["flow"] = {0: "all", 8: "ports", 16: "qps"}[len(b)]
    if b:
        d["flow_protocol"] = b[0]
        d["flow_sport"], d["flow_dport"] = struct.unpack("!HH", b[4:8])
    if len(b) == 16:
        d["flow_src_qp"], d["flow_dst_qp"] = struct.unpack("!II", b[8:])
    return d

def computed_icrc(p):
    if IP in p:
        q = p.copy()
        q[BTH].icrc = None
        return raw(q[BTH])[-4:]
    q = p[IPv6].copy()
    q.tc, q.fl, q.hlim, q[UDP].chksum = 0xff, 0xfffff, 0xff, 0xffff
    q[BTH].fecn, q[BTH].becn, q[BTH].resv6 = 1, 1, 0x3f
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + raw(q)[:-4]))

def found(frame):
    p = Ether(frame)
    if p.type == 0x8808:
        opcode, enable = struct.unpack("!HH", frame[14:18])
        assert (p.dst, opcode, len(frame)) == ("01:80:c2:00:00:01", 0x0101, 60)
        return {"priorities": [i for i in range(8) if enable >> i & 1], "quanta": list(struct.unpack("!8H", frame[18:34]))}
    ip = p[IPv6] if IPv6 in p else p[IP]
    size = 16 if IPv6 in p else 4
    d = {"src": ip.src, "dst": ip.dst, "hop_limit": ip.hlim if size == 16 else ip.ttl, "wrong": []}
    def recompute(layer, field):
        q = ip.copy()
        found = q[layer].getfieldval(field)
        q[layer].delfieldval(field)
        fresh = ip.__class__(raw(q))[layer].getfieldval(field)
        if found != fresh:
            d["wrong"].append("%s: %#x is there, scapy computes %#x" % (field, found, fresh))
    if size == 4:
        body = raw(ip)[20:ip.len]
        recompute(IP, "chksum")
        proto = ip.proto
    else:
        body, proto = raw(ip)[40:40 + ip.plen], ip.nh
    if proto == 58:
        fresh = in6_chksum(58, ip, body[:2] + b"\0\0" + body[4:])
        if body[2:4] != fresh.to_bytes(2, "big"):
            d["wrong"].append("ICMPv6 checksum: %s is there, scapy computes %04x" % (body[2:4].hex(), fresh))
        d.update(pfcm(body[6:]) if body[0] == 200 else ppfc(body[4:], size, "congestion_port", True))
        assert body[1] == 0
    elif proto == 1:
        recompute(ICMP, "chksum")
        assert body[:2] == b"\xfd\x00"
        d.update(ppfc(body[4:], size, "congestion_port", True))
    elif proto in (0, 60):
        h = p[IPv6ExtHdrHopByHop if proto == 0 else IPv6ExtHdrDestOpt]
        pad, option = h.options
        assert (h.nh, len(body), pad.otype, pad.optlen, option.otype, option.optlen) == (59, 48, 1, 0, 0x1e, 42)
        assert option.optdata[:2] == option.optdata[8:10] == b"\0\0"
        assert body.index(option.optdata[10:26]) % 8 == body.index(option.optdata[26:42]) % 8 == 0
        d.update(pfcm(option.optdata[2:]))
    elif p[UDP].dport == 4791:
        recompute(UDP, "chksum")
        b = body[8:]
        assert len(b) == 32
        icrc = computed_icrc(p)
        if b[-4:] != icrc:
            d["wrong"].append("ICRC: %s is there, scapy computes %s" % (b[-4:].hex(), icrc.hex()))
        d["pkey"], d["dest_qp"] = p[BTH].pkey, p[BTH].dqpn
        assert (p[BTH].fecn, p[BTH].becn, p[BTH].psn, p[BTH].ackreq) == (0, int(b[0] == 0x81), 0, 0)
        if b[0] == 0xc5:
            d["rate_mbps"], d["version"], d["destination_qp"], d["source_qp"] = struct.unpack("!IIII", b[12:28])
        else:
            assert b[0] == 0x81 and b[12:28] == bytes(16)
    else:
        recompute(UDP, "chksum")
        assert p[UDP].dport == 1021
        d.update(ppfc(body[8:], size, "congestion_qid", False))
    return d

for line in sys.stdin:
    print(json.dumps(found(bytes.fromhex(line))))
`

// TestScapyReadsGolden compares with a reader in another language: checksums
// and ICRC as scapy computes them, every field as struct unpacks it.
//
//conformance:draft-zz/bth draft-zz/icrc
func TestScapyReadsGolden(t *testing.T) {
	if out, err := exec.Command(python, "-c", "import scapy.contrib.roce").CombinedOutput(); err != nil {
		t.Skipf("scapy with contrib.roce is not installed for %s: %v: %s", python, err, out)
	}
	t.Parallel()
	var in, stderr bytes.Buffer
	for _, s := range samples() {
		fmt.Fprintf(&in, "%x\n", frameOf(t, s))
	}
	cmd := exec.Command(python, "-c", judge)
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scapy: %v\n%s", err, &stderr)
	}
	found := json.NewDecoder(bytes.NewReader(out))
	for _, s := range samples() {
		var theirs map[string]any
		if err := found.Decode(&theirs); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if wrong, ok := theirs["wrong"].([]any); ok && len(wrong) > 0 {
			t.Errorf("%s: %v", s.name, wrong)
		}
		delete(theirs, "wrong")
		want := fieldsByName(t, s)
		for name, v := range theirs {
			if fmt.Sprint(v) != fmt.Sprint(want[name]) {
				t.Errorf("%s: %s is %v to us, %v to scapy", s.name, name, want[name], v)
			}
		}
		if len(theirs) < 2 {
			t.Errorf("%s: scapy found %v", s.name, theirs)
		}
	}
}

func fieldsByName(t *testing.T, s sample) map[string]any {
	t.Helper()
	var p Packet
	if err := p.Parse(frameOf(t, s), DefaultCodePoints()); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(p.Fields())
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
