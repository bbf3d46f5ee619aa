// SPDX-License-Identifier: Apache-2.0

package ipfix

import "time"

// Values of a message's header and of set IDs (RFC 7011 sections 3.1 and 3.3.2), lengths
// in octets.
const (
	version      = 10
	headerLen    = 16
	setHeaderLen = 4

	templateSet = 2
	optionsSet  = 3
)

// session builds the messages of one transport session: it keeps which templates
// the collector has, and counts the session's records. It is pure: no socket, no
// clock.
//
// A message counts only from commit on; abort takes it back. So a message that
// could not be sent leaves the sequence numbers and the collector's templates as
// they were.
type session struct {
	domain    uint32
	sampled   variant // added to every record's
	limit     int     // octets of a message
	templates [numVariants]template
	options   []template
	health    []template // by variant; nil: it is not exported
	short     bool       // messages are
	single    bool       // a message has one set, and there are no options

	known    [lastTemplate + 1 - firstTemplate]delivery
	sequence uint32 // data records of committed messages

	message []byte
	set     int    // offset of the open set, or 0
	setID   uint16 // of the open set
	records uint32 // data records in the message, with options
	flows   uint32 // of these, records of flows and packets
	healths uint32 // of these, of health
}

// delivery is the state of a template at the collector.
type delivery uint8

// States of a template at the collector: it is pending while the message with it is
// unsent.
const (
	undefined delivery = iota
	pending
	defined
)

// Limits of messages, octets. minLimit holds a template and a record of any kind, and any
// options record, where Sluice's own elements behind the first ten are left out;
// fullLimit holds them with these.
const minLimit, fullLimit = 400, 640

// newSession returns a session whose messages have at most limit octets.
func newSession(p *Process, limit int) *session {
	short := limit < fullLimit
	s := &session{domain: p.Domain, limit: limit, short: short, single: p.SingleSet, templates: templates(p.Registry, short), options: optionsTemplates(p.Registry)}
	if p.Health {
		s.health = healthTemplates(p.Registry)
	}
	if p.SamplingRate > 1 {
		s.sampled = sampled
	}
	s.begin()
	return s
}

// begin makes an empty message of the session's buffer.
func (s *session) begin() {
	s.message = append(s.message[:0], make([]byte, headerLen)...)
	s.set, s.records, s.flows, s.healths = 0, 0, 0, 0
}

// empty reports whether the message is only a header.
func (s *session) empty() bool { return len(s.message) == headerLen }

// add appends a record, before it its template where the collector lacks it. It
// reports whether the record found room.
func (s *session) add(r *Record) bool {
	v := r.variant() | s.sampled
	t := &s.templates[v]
	if !s.reserve(t, t.length) {
		return false
	}
	if t.whole {
		s.message = appendRecord(s.message, r, v, t.length)
	} else {
		for _, put := range t.puts {
			s.message = put(s.message, r)
		}
	}
	s.records++
	s.flows++
	return true
}

// addHealth appends a health record; in short messages the figures from PSNs are
// left out.
func (s *session) addHealth(h *Health) bool {
	v := h.variant
	if s.short {
		v &= healthSrcQP | healthPoint
	}
	t := &s.health[v]
	if !s.reserve(t, t.length) {
		return false
	}
	s.message = h.append(s.message, v)
	s.records++
	s.healths++
	return true
}

// addHealths appends health records, and returns how many found room.
func (s *session) addHealths(all []Health) (n int) {
	for n < len(all) && s.addHealth(&all[n]) {
		n++
	}
	return n
}

// addOption appends an options record, unless the collector reads none.
func (s *session) addOption(t *template, record []byte) bool {
	if s.single {
		return true
	}
	if !s.reserve(t, len(record)) {
		return false
	}
	s.message = append(s.message, record...)
	s.records++
	return true
}

// reserve opens the set for a record of length octets. A set stays open for records of
// the same template; it reports false, with the message as it was, where set header,
// template and record exceed the limit together. With a single set a message, it also does
// where the message has another one, or now has the template alone.
func (s *session) reserve(t *template, length int) bool {
	known := &s.known[t.id-firstTemplate]
	if s.set != 0 && s.setID == t.id && *known != undefined {
		return len(s.message)+length <= s.limit
	}
	if s.single && !s.empty() {
		return false
	}
	length += setHeaderLen
	if *known == undefined {
		length += s.introduction(t)
	}
	if len(s.message)+length > s.limit {
		return false
	}
	if *known == undefined {
		*known = pending
		id := uint16(templateSet)
		if t.options {
			id = optionsSet
		}
		s.open(id)
		s.message = append(s.message, t.definition...)
		if t.keys != 0 {
			s.addOption(&s.options[keysOption], keysRecord(t))
		}
		if s.single {
			return false
		}
	}
	s.open(t.id)
	return true
}

// introduction returns the length in octets of a template's definition and flow
// keys.
func (s *session) introduction(t *template) int {
	length := setHeaderLen + len(t.definition)
	if t.keys == 0 {
		return length
	}
	keys := &s.options[keysOption]
	length += setHeaderLen + len(keysRecord(t))
	if s.known[keys.id-firstTemplate] == undefined {
		length += setHeaderLen + len(keys.definition)
	}
	return length
}

// open closes the open set and opens one.
func (s *session) open(id uint16) {
	s.close()
	s.set, s.setID = len(s.message), id
	s.message = be.AppendUint32(s.message, uint32(id)<<16)
}

// close completes the set that is open with its length.
func (s *session) close() {
	if s.set != 0 {
		be.PutUint16(s.message[s.set+2:], uint16(len(s.message)-s.set))
		s.set = 0
	}
}

// withdraw appends withdrawals of all templates (RFC 7011 section 8.1), for
// transports that deliver.
func (s *session) withdraw() {
	for _, id := range []uint16{templateSet, optionsSet} {
		s.open(id)
		s.message = be.AppendUint32(s.message, uint32(id)<<16)
	}
}

// finish completes the message (RFC 7011 section 3.1). It is valid until begin.
func (s *session) finish(now time.Time) []byte {
	s.close()
	be.PutUint16(s.message, version)
	be.PutUint16(s.message[2:], uint16(len(s.message)))
	be.PutUint32(s.message[4:], uint32(now.Unix()))
	be.PutUint32(s.message[8:], s.sequence)
	be.PutUint32(s.message[12:], s.domain)
	return s.message
}

// commit counts the message as sent, and begins the next.
func (s *session) commit() {
	s.sequence += s.records
	s.settle(defined)
	s.begin()
}

// abort takes the message back, and begins a new one.
func (s *session) abort() {
	s.settle(undefined)
	s.begin()
}

// settle gives the templates of the message their state at the collector.
func (s *session) settle(as delivery) {
	for i := range s.known {
		if s.known[i] == pending {
			s.known[i] = as
		}
	}
}

// forget makes every template be sent again with its next record.
func (s *session) forget() { clear(s.known[:]) }
