// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Limits of a reply. Rows have some 100 kB at most, and a reply has one row, or a page of a
// scan. Each value and each array costs memory before its content has come.
const (
	maxReply  = 64 << 20 // octets
	valueCost = 16       // octets that a client allocates for a value of an array
	arrayCost = 256      // octets for an array in another one
)

// replies follows the replies in a stream of Redis' protocol (RESP2 and RESP3, Redis
// "serialization protocol specification"). It is pure; the zero value is at the beginning of
// a stream.
type replies struct {
	values int      // of this reply that are to come; 0: between two replies
	octets int      // that this reply costs, by what it has announced
	skip   int      // octets of the string that is to come, with its CR LF
	line   [24]byte // the beginning of the line that is to end: type and length
	length int      // octets in line
}

// errLength is the error of a length that is none, after which the end of a reply is unknown.
var errLength = errors.New("a reply of Redis has a length that is no number")

// take follows the next octets. Its error is of a reply that costs more than maxReply, or has
// an unreadable length; take is not called again after it.
func (r *replies) take(b []byte) error {
	for len(b) > 0 {
		if r.skip > 0 {
			n := min(r.skip, len(b))
			b = b[n:]
			if r.skip -= n; r.skip == 0 {
				r.values--
			}
			continue
		}
		if r.values == 0 && r.length == 0 {
			r.values, r.octets = 1, 0
		}
		part, rest, ends := bytes.Cut(b, []byte("\n"))
		b = rest
		if err := r.charge(len(part)); err != nil {
			return err
		}
		r.length += copy(r.line[r.length:], part)
		if !ends {
			continue
		}
		if err := r.value(); err != nil {
			return err
		}
		r.length = 0
	}
	return nil
}

// charge adds octets to the cost of this reply.
func (r *replies) charge(octets int) error {
	if octets > maxReply-r.octets {
		return fmt.Errorf("a reply of Redis has more than %d MiB: nothing of it is read", maxReply>>20)
	}
	r.octets += octets
	return nil
}

// value takes the line that has ended: a value, or the announcement of others.
func (r *replies) value() error {
	var each int // values for each that is announced
	switch line := r.line[:r.length]; {
	case len(line) == 0:
		return errLength
	case bytes.IndexByte([]byte("$!="), line[0]) >= 0: // strings
		n, err := r.announced()
		if err != nil || n < 0 {
			r.values--
			return err
		}
		r.skip = n + len("\r\n")
		return r.charge(n)
	case bytes.IndexByte([]byte("*~>"), line[0]) >= 0: // arrays, sets, pushes
		each = 1
	case line[0] == '%' || line[0] == '|': // maps; attributes, which a value follows
		each = 2
	default:
		r.values--
		return nil
	}
	n, err := r.announced()
	if err != nil {
		return err
	}
	n = max(n, 0)
	if n > maxReply/valueCost {
		n = maxReply // charge fails, and no product overflows
	}
	if err := r.charge(arrayCost + n*each*valueCost); err != nil {
		return err
	}
	if r.values += n * each; r.line[0] != '|' {
		r.values--
	}
	return nil
}

// announced returns the length in the line; -1 is of a null.
func (r *replies) announced() (int, error) {
	n, err := strconv.Atoi(string(bytes.TrimSuffix(r.line[1:r.length], []byte("\r"))))
	if err != nil || n < -1 || r.length == len(r.line) { // a line that fills the place may be longer
		return 0, errLength
	}
	return n, nil
}
