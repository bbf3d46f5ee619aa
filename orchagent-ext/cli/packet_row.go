// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/netip"
	"strconv"
	"time"
	"unsafe"
)

// packetRow is the row of the table of packets that is made next.
type packetRow struct {
	start time.Time // of the first frame, which times count from
	ports bool      // are shown
	cells []string
	texts texts
	hosts hosts
}

// addPorts adds the ports, where they are shown.
func (r *packetRow) addPorts(in, out string) {
	if r.ports {
		r.cells = withPorts(r.cells, in, out)
	}
}

// texts are cells of a row, which are made in one buffer: a capture has millions of rows.
type texts struct {
	b     []byte
	cells []string
	ends  []int // of each in b
}

// add ends a cell, whose text was appended to t.b.
func (t *texts) add(b []byte) { t.b, t.ends = b, append(t.ends, len(b)) }

// word adds a cell.
func (t *texts) word(s string) *texts {
	t.add(append(t.b, s...))
	return t
}

// number adds a cell of a number in decimal.
func (t *texts) number(n uint64) *texts {
	t.add(strconv.AppendUint(t.b, n, 10))
	return t
}

// micros ends a cell with a time in microseconds.
func (t *texts) micros(us float64, digits int) *texts {
	t.add(append(strconv.AppendFloat(t.b, us, 'f', digits, 64), "us"...))
	return t
}

// take returns the cells, and starts the next row: they are valid until its first cell.
func (t *texts) take() []string {
	all, from := unsafe.String(unsafe.SliceData(t.b), len(t.b)), 0
	t.cells = t.cells[:0]
	for _, end := range t.ends {
		t.cells, from = append(t.cells, all[from:end]), end
	}
	t.b, t.ends = t.b[:0], t.ends[:0]
	return t.cells
}

// hosts has the texts of addresses, which come again and again.
type hosts map[netip.Addr]string

// mostHosts bounds the memory for addresses.
const mostHosts = 1 << 12

// text returns an address as text.
func (h hosts) text(a netip.Addr) string {
	s, known := h[a]
	if !known {
		if len(h) == mostHosts {
			clear(h)
		}
		s = a.String()
		h[a] = s
	}
	return s
}
