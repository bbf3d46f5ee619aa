// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"bytes"
	"errors"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// Every prefix of a packet of every opcode in every shape: as a frame of its
// own it contradicts itself; as what a capture left of the frame it is parsed,
// if the BTH is there, with the headers that are whole, and otherwise the first
// missing one is named.
func TestPrefixesNameTheFirstMissingHeader(t *testing.T) {
	t.Parallel()
	var p roce.Packet
	for i, s := range specs {
		for j, sh := range shapes {
			m := packets(s, sh).Example(i*len(shapes) + j)
			m.check(t)
			for n := range m.frame {
				m.checkShort(t, &p, n)
				m.checkCaptured(t, &p, n)
			}
			if t.Failed() {
				t.Fatalf("%v in %v: %x", s.name, sh, m.frame)
			}
		}
	}
}

func (m *made) checkShort(t *testing.T, p *roce.Packet, n int) {
	err := p.Parse(m.frame[:n], n)
	if _, ok := errors.AsType[*roce.Error](err); !ok {
		t.Errorf("a frame that ends at %d: %v, want an *Error", n, err)
	}
}

func (m *made) checkCaptured(t *testing.T, p *roce.Packet, n int) {
	err := p.Parse(m.frame[:n], len(m.frame))
	bth, whole := 0, 0 // where the BTH ends, and the last header that is there
	for _, s := range m.spans {
		if s.header == roce.HeaderBTH {
			bth, whole = s.end, s.end
		}
		if s.end <= n && s.header != roce.HeaderCNP {
			whole = s.end
			continue
		}
		if s.header > roce.HeaderBTH {
			break
		}
		want := roce.Error{Header: s.header, Problem: roce.Cut}
		if e, ok := errors.AsType[*roce.Error](err); !ok || *e != want {
			t.Errorf("captured up to %d: %v, want %v", n, err, &want)
		}
		return
	}
	if err != nil {
		t.Errorf("captured up to %d, with a BTH: %v", n, err)
		return
	}
	if got := decodeExtended(p).append(nil); !bytes.Equal(got, m.frame[bth:whole]) {
		t.Errorf("captured up to %d: headers %x, want %x", n, got, m.frame[bth:whole])
	}
	if p.Complete() || p.BTH() != m.want.BTH || p.Len() != m.want.Len || !bytes.HasPrefix(m.want.Payload, p.Payload()) {
		t.Errorf("captured up to %d: complete %v, %+v, length %d, payload %x", n, p.Complete(), p.BTH(), p.Len(), p.Payload())
	}
	if _, _, ok := p.ICRC(); ok {
		t.Errorf("captured up to %d: judges the ICRC", n)
	}
}
