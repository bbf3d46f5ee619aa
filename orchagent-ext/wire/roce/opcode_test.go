// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"strings"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// spec is what the IBTA specification says of one opcode, written down by hand
// and not taken from the package under test.
type spec struct {
	code    roce.Opcode
	name    string
	headers string // behind the BTH, in order
	payload int    // offset from the BTH
	class   string // data, request, response (read data), ack, notification
}

var specs = []spec{
	{0x00, "RC_SEND_FIRST", "", 12, "data"},
	{0x01, "RC_SEND_MIDDLE", "", 12, "data"},
	{0x02, "RC_SEND_LAST", "", 12, "data"},
	{0x03, "RC_SEND_LAST_WITH_IMMEDIATE", "ImmDt", 16, "data"},
	{0x04, "RC_SEND_ONLY", "", 12, "data"},
	{0x05, "RC_SEND_ONLY_WITH_IMMEDIATE", "ImmDt", 16, "data"},
	{0x06, "RC_RDMA_WRITE_FIRST", "RETH", 28, "data"},
	{0x07, "RC_RDMA_WRITE_MIDDLE", "", 12, "data"},
	{0x08, "RC_RDMA_WRITE_LAST", "", 12, "data"},
	{0x09, "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", "ImmDt", 16, "data"},
	{0x0a, "RC_RDMA_WRITE_ONLY", "RETH", 28, "data"},
	{0x0b, "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", "RETH ImmDt", 32, "data"},
	{0x0c, "RC_RDMA_READ_REQUEST", "RETH", 28, "request"},
	{0x0d, "RC_RDMA_READ_RESPONSE_FIRST", "AETH", 16, "response"},
	{0x0e, "RC_RDMA_READ_RESPONSE_MIDDLE", "", 12, "response"},
	{0x0f, "RC_RDMA_READ_RESPONSE_LAST", "AETH", 16, "response"},
	{0x10, "RC_RDMA_READ_RESPONSE_ONLY", "AETH", 16, "response"},
	{0x11, "RC_ACKNOWLEDGE", "AETH", 16, "ack"},
	{0x12, "RC_ATOMIC_ACKNOWLEDGE", "AETH AtomicAckETH", 24, "ack"},
	{0x13, "RC_COMPARE_SWAP", "AtomicETH", 40, "request"},
	{0x14, "RC_FETCH_ADD", "AtomicETH", 40, "request"},
	{0x16, "RC_SEND_LAST_WITH_INVALIDATE", "IETH", 16, "data"},
	{0x17, "RC_SEND_ONLY_WITH_INVALIDATE", "IETH", 16, "data"},
	{0x1c, "RC_FLUSH", "FETH RETH", 32, "request"},
	{0x1d, "RC_ATOMIC_WRITE", "RETH", 28, "data"},

	{0x20, "UC_SEND_FIRST", "", 12, "data"},
	{0x21, "UC_SEND_MIDDLE", "", 12, "data"},
	{0x22, "UC_SEND_LAST", "", 12, "data"},
	{0x23, "UC_SEND_LAST_WITH_IMMEDIATE", "ImmDt", 16, "data"},
	{0x24, "UC_SEND_ONLY", "", 12, "data"},
	{0x25, "UC_SEND_ONLY_WITH_IMMEDIATE", "ImmDt", 16, "data"},
	{0x26, "UC_RDMA_WRITE_FIRST", "RETH", 28, "data"},
	{0x27, "UC_RDMA_WRITE_MIDDLE", "", 12, "data"},
	{0x28, "UC_RDMA_WRITE_LAST", "", 12, "data"},
	{0x29, "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE", "ImmDt", 16, "data"},
	{0x2a, "UC_RDMA_WRITE_ONLY", "RETH", 28, "data"},
	{0x2b, "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", "RETH ImmDt", 32, "data"},

	{0x64, "UD_SEND_ONLY", "DETH", 20, "data"},
	{0x65, "UD_SEND_ONLY_WITH_IMMEDIATE", "DETH ImmDt", 24, "data"},
	{0x81, "CNP", "CNP", 28, "notification"},

	{0xa0, "XRC_SEND_FIRST", "XRCETH", 16, "data"},
	{0xa1, "XRC_SEND_MIDDLE", "XRCETH", 16, "data"},
	{0xa2, "XRC_SEND_LAST", "XRCETH", 16, "data"},
	{0xa3, "XRC_SEND_LAST_WITH_IMMEDIATE", "XRCETH ImmDt", 20, "data"},
	{0xa4, "XRC_SEND_ONLY", "XRCETH", 16, "data"},
	{0xa5, "XRC_SEND_ONLY_WITH_IMMEDIATE", "XRCETH ImmDt", 20, "data"},
	{0xa6, "XRC_RDMA_WRITE_FIRST", "XRCETH RETH", 32, "data"},
	{0xa7, "XRC_RDMA_WRITE_MIDDLE", "XRCETH", 16, "data"},
	{0xa8, "XRC_RDMA_WRITE_LAST", "XRCETH", 16, "data"},
	{0xa9, "XRC_RDMA_WRITE_LAST_WITH_IMMEDIATE", "XRCETH ImmDt", 20, "data"},
	{0xaa, "XRC_RDMA_WRITE_ONLY", "XRCETH RETH", 32, "data"},
	{0xab, "XRC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", "XRCETH RETH ImmDt", 36, "data"},
	{0xac, "XRC_RDMA_READ_REQUEST", "XRCETH RETH", 32, "request"},
	{0xad, "XRC_RDMA_READ_RESPONSE_FIRST", "AETH", 16, "response"},
	{0xae, "XRC_RDMA_READ_RESPONSE_MIDDLE", "", 12, "response"},
	{0xaf, "XRC_RDMA_READ_RESPONSE_LAST", "AETH", 16, "response"},
	{0xb0, "XRC_RDMA_READ_RESPONSE_ONLY", "AETH", 16, "response"},
	{0xb1, "XRC_ACKNOWLEDGE", "AETH", 16, "ack"},
	{0xb2, "XRC_ATOMIC_ACKNOWLEDGE", "AETH AtomicAckETH", 24, "ack"},
	{0xb3, "XRC_COMPARE_SWAP", "XRCETH AtomicETH", 44, "request"},
	{0xb4, "XRC_FETCH_ADD", "XRCETH AtomicETH", 44, "request"},
	{0xb6, "XRC_SEND_LAST_WITH_INVALIDATE", "XRCETH IETH", 20, "data"},
	{0xb7, "XRC_SEND_ONLY_WITH_INVALIDATE", "XRCETH IETH", 20, "data"},
	{0xbc, "XRC_FLUSH", "XRCETH FETH RETH", 36, "request"},
	{0xbd, "XRC_ATOMIC_WRITE", "XRCETH RETH", 32, "data"},
}

func TestOpcodesHaveTheNamesAndServicesOfIBTA(t *testing.T) {
	services := map[string]roce.Service{
		"RC": roce.ServiceRC, "UC": roce.ServiceUC, "UD": roce.ServiceUD, "CNP": roce.ServiceCNP, "XRC": roce.ServiceXRC,
	}
	known := map[roce.Opcode]bool{}
	names := map[string]roce.Opcode{}
	for _, s := range specs {
		known[s.code] = true
		if s.code.String() != s.name || !s.code.Known() {
			t.Errorf("0x%02x is %q, known %v, want %q", uint8(s.code), s.code, s.code.Known(), s.name)
		}
		service, _, _ := strings.Cut(s.name, "_")
		if got := s.code.Service(); got != services[service] {
			t.Errorf("%v: service %d, want %d", s.code, got, services[service])
		}
		if got, want := s.code.IsResponse(), s.class == "response" || s.class == "ack"; got != want {
			t.Errorf("%v: IsResponse %v, want %v", s.code, got, want)
		}
		if got, want := s.code.CarriesData(), s.class == "data" || s.class == "response"; got != want {
			t.Errorf("%v: CarriesData %v, want %v", s.code, got, want)
		}
	}
	for i := range 256 {
		o := roce.Opcode(i)
		if o.Known() != known[o] {
			t.Errorf("%v: known %v, want %v", o, o.Known(), known[o])
		}
		if !o.Known() && (o.IsResponse() || o.CarriesData()) {
			t.Errorf("%v: an unknown opcode says what it carries", o)
		}
		if other, taken := names[o.String()]; taken {
			t.Errorf("0x%02x and 0x%02x are both named %v", i, uint8(other), o)
		}
		names[o.String()] = o
	}
}

func TestServiceOfUnknownOpcodes(t *testing.T) {
	for o, want := range map[roce.Opcode]roce.Service{
		0x1f: roce.ServiceRC, 0x3f: roce.ServiceUC, 0x40: roce.ServiceRD, 0x5f: roce.ServiceRD, 0x66: roce.ServiceUD,
		0xbf: roce.ServiceXRC, 0xc0: roce.ServiceOther, 0xc5: roce.ServiceOther, 0xff: roce.ServiceOther,
	} {
		if got := o.Service(); got != want {
			t.Errorf("%v: service %d, want %d", o, got, want)
		}
	}
}
