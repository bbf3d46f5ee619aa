// SPDX-License-Identifier: Apache-2.0

package hft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Counters are those of a queue that a stream has.
type Counters struct {
	Octets, Packets, Left, Dropped uint64 // that wait; that left, in packets and octets; packets that were dropped

	has uint8 // a bit for each counter that came
}

// Depth reports whether the stream has the octets that wait.
func (c *Counters) Depth() bool { return c.has&(1<<depth) != 0 }

// The counters, by their place in has.
const (
	depth = iota
	packets
	left
	dropped
)

// counterOf are the counters by the number of SAI_QUEUE_STAT_….
var counterOf = map[uint16]int{0: packets, 1: left, 2: dropped, 24: depth}

const (
	typeQueue = 21 // SAI_OBJECT_TYPE_QUEUE

	ipfixVersion   = 10
	ipfixHeader    = 16
	setHeader      = 4
	setTemplates   = 2
	firstData      = 256
	enterpriseBit  = 1 << 15
	variableLength = 1<<16 - 1

	netlinkHeader = 16
	genericHeader = 4

	mostTemplates = 64
	mostFields    = 4096
)

// field is a field of a record: a counter of a queue, or one that is skipped.
type field struct {
	length  int
	queue   string // "": it is skipped
	counter int
}

// template has the fields of a record.
type template struct {
	fields []field
	length int // octets of a record
}

// Session parses the messages of a stream.
type Session struct {
	names     map[uint16]string // of objects, by their labels
	templates map[uint16]*template
}

// NewSession returns a session by the fields of its row in STATE_DB: IPFIX messages with templates,
// and the names and labels of objects, separated by commas.
func NewSession(config, names, labels string) (*Session, error) {
	s := &Session{names: map[uint16]string{}, templates: map[uint16]*template{}}
	named, numbered := strings.Split(names, ","), strings.Split(labels, ",")
	if len(named) != len(numbered) {
		return nil, fmt.Errorf("%w: %d object_names and %d object_ids", errNames, len(named), len(numbered))
	}
	for i, text := range numbered {
		label, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("object_ids: %w", err)
		}
		s.names[uint16(label)] = named[i]
	}
	err := s.messages([]byte(config), func(id uint16, body []byte) error {
		if id != setTemplates {
			return nil
		}
		return s.parseTemplates(body)
	})
	if err == nil && len(s.templates) == 0 {
		err = errNoTemplate
	}
	if err != nil {
		return nil, fmt.Errorf("session_config: %w", err)
	}
	return s, nil
}

// The reasons for which a session is refused.
var (
	errNames      = errors.New("each object needs one name and one id")
	errShort      = errors.New("it is cut")
	errVersion    = errors.New("not IPFIX")
	errNoTemplate = errors.New("there is no template")
	errTemplate   = errors.New("its number is reserved, or it is too large")
	errVariable   = errors.New("a field has a variable length")
)

// messages calls take with each set of IPFIX messages (RFC 7011 section 3).
func (s *Session) messages(b []byte, take func(id uint16, body []byte) error) error {
	for len(b) > 0 {
		if len(b) < ipfixHeader {
			return errShort
		}
		length := int(binary.BigEndian.Uint16(b[2:]))
		if v := binary.BigEndian.Uint16(b); v != ipfixVersion {
			return fmt.Errorf("version %d: %w, whose version is %d", v, errVersion, ipfixVersion)
		}
		if length < ipfixHeader || length > len(b) {
			return errShort
		}
		for sets := b[ipfixHeader:length]; len(sets) > 0; {
			if len(sets) < setHeader {
				return errShort
			}
			id, n := binary.BigEndian.Uint16(sets), int(binary.BigEndian.Uint16(sets[2:]))
			if n < setHeader || n > len(sets) {
				return errShort
			}
			if err := take(id, sets[setHeader:n]); err != nil {
				return err
			}
			sets = sets[n:]
		}
		b = b[length:]
	}
	return nil
}

// parseTemplates reads a set of templates. Up to 3 octets at its end are padding.
func (s *Session) parseTemplates(b []byte) error {
	for len(b) >= 4 {
		id, count := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if id < firstData || count > mostFields || len(s.templates) >= mostTemplates {
			return fmt.Errorf("template %d with %d fields: %w", id, count, errTemplate)
		}
		b = b[4:]
		t := &template{}
		for range count {
			if len(b) < 4 {
				return errShort
			}
			label, length := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
			b = b[4:]
			if length == variableLength {
				return fmt.Errorf("template %d: %w", id, errVariable)
			}
			f := field{length: length}
			if label&enterpriseBit != 0 {
				if len(b) < 4 {
					return errShort
				}
				f.queue, f.counter = s.counter(label&^enterpriseBit, binary.BigEndian.Uint32(b))
				b = b[4:]
			}
			t.fields, t.length = append(t.fields, f), t.length+length
		}
		if t.length > 0 {
			s.templates[id] = t
		}
	}
	return nil
}

// counter returns the queue and the counter of a field: the type of the object and the number of
// the counter are its enterprise number, the label of the object its element. "": it is of no queue, or
// another counter.
func (s *Session) counter(label uint16, enterprise uint32) (queue string, counter int) {
	counter, known := counterOf[uint16(enterprise)]
	if enterprise>>16 != typeQueue || !known {
		return "", 0
	}
	return s.names[label], counter
}

// parse reads a datagram of the group, as the kernel sends it: netlink messages, whose numbers are in
// the host's byte order. Counters of queues go to latest, by name.
func (s *Session) parse(b []byte, latest map[string]Counters) error {
	for len(b) >= netlinkHeader {
		n := int(binary.NativeEndian.Uint32(b))
		if n < netlinkHeader+genericHeader || n > len(b) {
			return errShort
		}
		if err := s.messages(b[netlinkHeader+genericHeader:n], func(id uint16, body []byte) error {
			s.records(s.templates[id], body, latest)
			return nil
		}); err != nil {
			return err
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return nil
}

// records reads a set of data. A template that is unknown is nil: it is of another session.
func (s *Session) records(t *template, b []byte, latest map[string]Counters) {
	if t == nil {
		return
	}
	for len(b) >= t.length {
		for _, f := range t.fields {
			if f.queue != "" && f.length > 0 && f.length <= 8 {
				c := latest[f.queue]
				c.has |= 1 << f.counter
				*[]*uint64{&c.Octets, &c.Packets, &c.Left, &c.Dropped}[f.counter] = number(b[:f.length])
				latest[f.queue] = c
			}
			b = b[f.length:]
		}
	}
}

// number reads an unsigned number, which may be shorter than its element (RFC 7011 section 6.2).
func number(b []byte) (n uint64) {
	for _, octet := range b {
		n = n<<8 | uint64(octet)
	}
	return n
}
