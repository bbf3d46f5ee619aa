// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// fileLimit is the length of messages in a file: as long as one can be.
const fileLimit = 1<<16 - 1

// Writer writes an IPFIX file (RFC 5655): a series of messages, each template
// before its first record, type records (RFC 5610) at the beginning. It belongs
// to one goroutine. [NewWriter] makes one, and [Writer.Close] writes its last message.
type Writer struct {
	w       io.Writer
	s       *session
	process Process
	err     error
}

// Process has the settings that all sessions of an exporter share.
type Process struct {
	Registry Registry // the zero value: DefaultRegistry
	Domain   uint32   // observation domain
	// SamplingRate: one of so many packets was looked at; 0 is 1
	SamplingRate uint32
	// Systematic: every SamplingRate-th packet; else each with a probability of 1 ÷
	// SamplingRate
	Systematic bool
	Ignored    *Ignored // unmetered packets, or nil
	Health     bool     // health records are exported, too
	// SingleSet: a message has one set, and a set of templates has one, without options, for
	// collectors that read no more; excludes Health
	SingleSet bool
	Now       func() time.Time // nil: time.Now
}

// errHealthNumbers is the error for health records with PEN 0.
var errHealthNumbers = errors.New("health with enterprise number 0: its elements are Sluice's own, and IANA has no numbers for them; set an enterprise number, or leave health out")

// errHealthOptions is the error for health records without options.
var errHealthOptions = errors.New("health with one set a message: health records are options records, which such collectors cannot read; leave one of them out")

// complete fills in defaults, and returns an error where the registry is invalid
// or lacks numbers.
func (p *Process) complete() error {
	if p.Registry == (Registry{}) {
		p.Registry = DefaultRegistry
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	p.SamplingRate = max(p.SamplingRate, 1)
	if p.Health && p.Registry.PEN == 0 {
		return errHealthNumbers
	}
	if p.Health && p.SingleSet {
		return errHealthOptions
	}
	return p.Registry.Check()
}

// NewWriter returns a Writer to w, and an error where the registry is invalid. Nothing is
// written until a message of 65535 octets is full, or Close. The error is that of
// [Registry.Check], or that health has no numbers with PEN 0.
func NewWriter(w io.Writer, p Process) (*Writer, error) {
	if err := p.complete(); err != nil {
		return nil, err
	}
	f := &Writer{w: w, s: newSession(&p, fileLimit), process: p}
	for _, o := range fixedOptions(p, f.s) {
		f.s.addOption(o.template, o.record)
	}
	return f, nil
}

// Export writes records. Errors show in Close. It writes to w as often as a message is
// full. After an error it goes on, and counts sequence numbers as if messages were
// written.
func (f *Writer) Export(records []Record) {
	for i := range records {
		for !f.s.add(&records[i]) {
			f.flush()
		}
	}
}

// ExportHealth writes health records. Errors show in Close. [Process].Health must be
// true: without it there are no templates for them.
func (f *Writer) ExportHealth(records []Health) {
	for i := range records {
		if !f.s.addHealth(&records[i]) {
			f.flush()
			f.s.addHealth(&records[i])
		}
	}
}

// option writes an options record, in a new message where it exceeds the current
// one.
func (f *Writer) option(option int, record []byte) {
	t := &f.s.options[option]
	if !f.s.addOption(t, record) {
		f.flush()
		f.s.addOption(t, record)
	}
}

// flush writes the message, if it has records, and keeps the first error.
func (f *Writer) flush() {
	if f.s.empty() {
		return
	}
	if _, err := f.w.Write(f.s.finish(f.process.Now())); err != nil && f.err == nil {
		f.err = fmt.Errorf("write IPFIX file: %w", err)
	}
	f.s.commit()
}

// Close writes the remaining records and returns the first error. w stays open. The
// Writer is not used after it.
func (f *Writer) Close() error {
	if f.process.Ignored != nil {
		f.option(ignoredOption, ignoredRecord(f.process.Domain, f.process.Ignored))
	}
	f.flush()
	return f.err
}

// optionRecord is an options record and its template.
type optionRecord struct {
	template *template
	record   []byte
}

// fixedOptions returns the options records that stay constant in a session.
func fixedOptions(p Process, s *session) []optionRecord {
	var all []optionRecord
	for _, r := range typeRecords(p.Registry, p.Health) {
		all = append(all, optionRecord{&s.options[typeOption], r})
	}
	if p.SamplingRate > 1 {
		option, record := selectorRecord(p)
		all = append(all, optionRecord{&s.options[option], record})
	}
	return all
}
