// SPDX-License-Identifier: Apache-2.0

package show

import (
	"slices"
	"strings"
)

// Of is the answer of one switch.
type Of struct {
	Switch string
	Answer *Answer
}

// ofSwitches is the JSON of a switch's answer beside others.
type ofSwitches struct {
	Switch string `json:"switch"`
	Answer any    `json:"answer"`
}

// Switch is the title of the column of switches.
const columnSwitch = "Switch"

// Merge returns the answers of several switches as one: the same tables joined, with the
// switch in the first column, pairs of names and values as a table with a line for each
// switch, and sentences behind the names of the switches that they are of. Its JSON is a list.
// Stale is that of the first switch whose sluiced is silent or does not run.
func Merge(all []Of) *Answer {
	m := merger{}
	values := []any{}
	out := &Answer{}
	for _, of := range all {
		values = append(values, ofSwitches{of.Switch, of.Answer.JSON})
		if out.Stale == nil {
			out.Stale = of.Answer.Stale
		}
		m.add(of)
	}
	out.JSON, out.Blocks = values, m.blocks()
	return out
}

// merger joins the blocks of answers.
type merger struct {
	tables []*joined
	said   []*sentence
}

// joined are the tables of several switches that are the same, with their title.
type joined struct {
	title string // a sentence that ends with a colon
	pairs bool
	Block
}

// sentence is a text that some switches have.
type sentence struct {
	text     string
	switches []string
}

// add adds the blocks of one switch.
func (m *merger) add(of Of) {
	blocks := of.Answer.Blocks
	for i, b := range blocks {
		switch {
		case b.Header != nil:
			title := ""
			if i > 0 && isTitle(blocks[i-1:]) {
				title = blocks[i-1].Text
			}
			m.table(title, false, b).rows(of.Switch, b.Header, b.Rows)
		case isTitle(blocks[i:]): // of the next table
		case b.Text != "":
			m.say(of.Switch, b.Text)
		default:
			if header, row := lineOf(b.Pairs); header != nil {
				m.table("", true, Block{Header: header}).rows(of.Switch, header, [][]string{row})
			}
		}
	}
}

// isTitle reports whether the first block is a sentence over the table behind it.
func isTitle(blocks []Block) bool {
	return len(blocks) > 1 && blocks[1].Header != nil && strings.HasSuffix(blocks[0].Text, ":")
}

// table returns the table that another one is to be joined with.
func (m *merger) table(title string, pairs bool, b Block) *joined {
	same := func(j *joined) bool {
		const telling = 2 // columns by which tables differ
		own := j.Header[1:]
		return j.title == title && j.pairs == pairs && (pairs || slices.Equal(own[:min(telling, len(own))], b.Header[:min(telling, len(b.Header))]))
	}
	if at := slices.IndexFunc(m.tables, same); at >= 0 {
		return m.tables[at]
	}
	j := &joined{title: title, pairs: pairs, Block: Block{Header: []string{columnSwitch}, Spare: b.Spare, Folded: b.Folded}}
	j.Header = append(j.Header, b.Header...)
	m.tables = append(m.tables, j)
	return j
}

// rows adds rows of a switch, whose columns may be others, or fewer.
func (j *joined) rows(of string, header []string, all [][]string) {
	for i, title := range header {
		if j.place(title) < 0 {
			j.insert(title, header[i+1:])
		}
	}
	for _, cells := range all {
		row := make([]string, len(j.Header))
		row[0] = of
		for i, cell := range cells {
			row[j.place(header[i])] = cell
		}
		j.Rows = append(j.Rows, row)
	}
}

// place returns the place of a column; -1: there is none.
func (j *joined) place(title string) int {
	if at := slices.Index(j.Header[1:], title); at >= 0 {
		return at + 1
	}
	return -1
}

// insert adds a column before the first of those that follow it and are there, or at the end. It is empty so far.
func (j *joined) insert(title string, following []string) {
	at := len(j.Header)
	for _, next := range following {
		if place := j.place(next); place >= 0 {
			at = place
			break
		}
	}
	j.Header = slices.Insert(j.Header, at, title)
	for i := range j.Rows {
		j.Rows[i] = slices.Insert(j.Rows[i], at, "")
	}
}

// lineOf returns pairs as a line of a table. Values of the same name are one after the other in
// its cell, and one without a name is behind that before it.
func lineOf(pairs [][2]string) (header, row []string) {
	for _, p := range pairs {
		if p[1] == "" {
			continue
		}
		title := p[0]
		if title != "" {
			title = strings.ToUpper(title[:1]) + title[1:]
		}
		at := slices.Index(header, title)
		if title == "" {
			at = len(header) - 1
		}
		if at >= 0 {
			row[at] += "; " + p[1]
			continue
		}
		header, row = append(header, title), append(row, p[1])
	}
	return header, row
}

// say keeps a sentence of a switch.
func (m *merger) say(of, text string) {
	at := slices.IndexFunc(m.said, func(s *sentence) bool { return s.text == text })
	if at < 0 {
		at = len(m.said)
		m.said = append(m.said, &sentence{text: text})
	}
	if s := m.said[at]; !slices.Contains(s.switches, of) {
		s.switches = append(s.switches, of)
	}
}

// blocks returns the joined blocks: tables in the order in which they came, then sentences.
func (m *merger) blocks() (all []Block) {
	for _, j := range m.tables {
		if j.title != "" {
			all = append(all, Block{Text: j.title})
		}
		if j.pairs { // a narrow terminal has the first ones
			j.Spare = slices.Clone(j.Header[min(3, len(j.Header)):])
			slices.Reverse(j.Spare)
		}
		all = append(all, j.Block)
	}
	for i, s := range m.said {
		all = append(all, Block{Text: strings.Join(s.switches, ", ") + ": " + s.text, Joined: i > 0})
	}
	return all
}
