// SPDX-License-Identifier: Apache-2.0

package techsupport

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/yang/rows"
)

// Bounds of a report.
const (
	Longest = 30 * time.Second // a late part is left out
	Largest = 10 << 20         // octets of all parts, before they are packed

	mostPart  = 600 << 10 // octets of one part, in JSON
	mostItem  = mostPart / 2
	mostValue = 16 << 10 // octets of one value
)

// Config has the sources of a report.
type Config struct {
	// Read reads the rows of tables of a database.
	Read func(ctx context.Context, database string, tables ...string) ([]rows.Row, error)

	Version string        // of the tool
	Since   time.Duration // how far back the log is read
	Now     func() time.Time
	Root    string // the file system's root: another one in tests
}

// Report is the result of [Collect].
type Report struct {
	// Host is the name of the machine.
	Host string `json:"host"`
	// Time is that of the begin, in seconds, UTC.
	Time time.Time `json:"time"`
	// Parts are the results of all sources, in their order.
	Parts []Part `json:"parts"`
}

// Part is one subject.
type Part struct {
	// Name is that of the part, and of its file in an archive.
	Name string `json:"name"`
	// About describes the part in one line.
	About string `json:"about"`
	Error string `json:"error,omitempty"` // reason that it is missing or cut
	// Items are its rows, at most as many as its limit.
	Items []Item `json:"items"`

	// LeftOut is the number of items above the part's limit.
	LeftOut int `json:"left_out,omitempty"`
}

// Item is a row of a database, or a set of fields like one.
type Item struct {
	Name   string            `json:"name"`
	Fields map[string]string `json:"fields,omitempty"`
	Lines  []string          `json:"lines,omitempty"` // of a log
}

// source makes the items of a part; with an error, those that it has.
type source struct {
	name, about string
	items       func(ctx context.Context, c *Config) ([]Item, error)
}

// sources are the parts, in the order of the report.
func sources() []source {
	return []source{
		{"versions", "programs, kernel, system", versions},
		{"state", "STATE_DB: what sluiced says of itself and of the switch", state},
		{"errors", "what went wrong last, and rows that are not in force", lastErrors},
		{"config", "CONFIG_DB: tables of Sluice, names of ports, SWITCH_HASH", configuration},
		{"counters", "COUNTERS_DB: counters of Sluice", counters},
		{"flows", "STATE_DB: the heaviest flows", flows},
		{"objects", "STATE_DB: the ledger, objects on the switch that Sluice created", objects},
		{"warm-restart", "STATE_DB: warm restart", warmRestart},
		{"ecmp", "sysctls of the kernel's ECMP hash", ecmp},
		{"links", "netdevs, and the BPF programs on their ingress", links},
		{"processes", "sluiced and sluice-gnmi, as /proc shows them", processes},
		{"limits", "memory of the control group, resource limits", limits},
		{"log", "lines of Sluice in the system's log", logLines},
	}
}

// Collect gathers all parts, at the same time, within [Longest].
func Collect(ctx context.Context, c Config) *Report {
	ctx, cancel := context.WithTimeout(ctx, Longest)
	defer cancel()
	return collect(ctx, &c, sources())
}

// collect runs all sources at the same time and gathers the parts in their order. A
// source that outlives the time limit is reported as such.
func collect(ctx context.Context, c *Config, from []source) *Report {
	r := &Report{Host: hostname(c), Time: c.Now().UTC().Truncate(time.Second)}
	type result struct {
		items []Item
		err   error
	}
	results := make([]chan result, len(from))
	for i, s := range from {
		results[i] = make(chan result, 1) // a late result leaves its goroutine free
		go func() {
			var got result
			defer func() {
				if p := recover(); p != nil {
					got.err = fmt.Errorf("panic: %v", p)
				}
				results[i] <- got
			}()
			got.items, got.err = s.items(ctx, c)
		}()
	}
	for i, s := range from {
		p := Part{Name: s.name, About: s.about, Items: []Item{}}
		select {
		case got := <-results[i]:
			p.fill(got.items, got.err)
		case <-ctx.Done():
			select { // done as well
			case got := <-results[i]:
				p.fill(got.items, got.err)
			default:
				p.Error = fmt.Sprintf("not done within %v", Longest)
			}
		}
		r.Parts = append(r.Parts, p)
	}
	return r
}

// fill takes items in, masked, as many as there is room for.
func (p *Part) fill(items []Item, err error) {
	if err != nil {
		// Where Redis is down each table fails with the same error.
		lines := strings.Split(err.Error(), "\n")
		slices.Sort(lines)
		p.Error = tidy(strings.Join(slices.Compact(lines), "\n"))
	}
	room := mostPart
	for i, item := range items {
		item = item.bounded()
		text, err := json.Marshal(item)
		if err != nil || len(text) > room {
			p.LeftOut = len(items) - i
			break
		}
		room -= len(text)
		p.Items = append(p.Items, item)
	}
}

// bounded returns the item with its secrets masked and its values cut to mostValue
// octets. Of lines the last stay.
func (item Item) bounded() Item {
	item.Name = tidy(item.Name)
	if len(item.Fields) > 0 {
		fields := make(map[string]string, len(item.Fields))
		room := mostItem
		for _, name := range slices.Sorted(maps.Keys(item.Fields)) {
			text := tidy(name)
			short := map[string]string{"field": item.Fields["field"]}
			short[name] = cut(item.Fields[name])
			value := Masked(short, name)
			if room -= size(text) + size(value); room < 0 {
				fields["…"] = "further fields found no room"
				break
			}
			fields[text] = value
		}
		item.Fields = fields
	}
	if len(item.Lines) > 0 {
		room := mostItem
		var lines []string
		for _, line := range slices.Backward(item.Lines) {
			line = tidy(line)
			if room -= size(line); room < 0 {
				break
			}
			lines = append(lines, line)
		}
		slices.Reverse(lines)
		item.Lines = lines
	}
	return item
}

// tidy returns a text cut and masked.
func tidy(s string) string { return maskText(cut(s)) }

// size returns the octets of a string in JSON, with the separator after it.
func size(s string) int {
	text, err := json.Marshal(s)
	if err != nil {
		return len(s)
	}
	return len(text) + 1
}

// cut shortens s to mostValue octets. It runs before secrets are masked, since masking
// takes time, and cuts at the end of a word, since half a URL would escape the mask.
func cut(s string) string {
	if len(s) <= mostValue {
		return s
	}
	head := s[:mostValue]
	if end := strings.LastIndexAny(head, " ,\n"); end > 0 {
		head = head[:end]
	}
	return fmt.Sprintf("%s… (%d octets)", head, len(s))
}
