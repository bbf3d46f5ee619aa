// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/yang/rows"
)

// Fleet is the content of a frame of several switches: a line each, the worst first.
type Fleet struct {
	// Time is that of the frame.
	Time time.Time `json:"time"`
	// Switches are sorted by how bad their state is.
	Switches []SwitchLine `json:"switches"`

	all   []SwitchLine // with those that Skip took away
	above int          // of these
}

// SwitchLine is the state of one switch, and its rates a second.
type SwitchLine struct {
	// Switch is the name of the switch.
	Switch string `json:"switch"`
	// State is that of sluiced; not running, stale, or no answer.
	State string `json:"state"`
	// Error is why the switch did not answer; the rest is unknown then.
	Error string `json:"error,omitempty"`
	// Warnings are those of sluiced, as text.
	Warnings []string `json:"warnings"`
	// RxBits and TxBits are the rates of all ports together, bit/s.
	RxBits Number `json:"rx_bits"`
	TxBits Number `json:"tx_bits"`
	// WorstToMean is max ÷ mean of what the ports of role fabric send.
	WorstToMean Number `json:"worst_over_mean"`
	// Dropped is the rate of packets that egress queues dropped.
	Dropped Number `json:"dropped"`
	// Port has the deepest queue.
	Port  string `json:"port,omitempty"`
	Queue *Queue `json:"deepest_queue,omitempty"`
	// Holds is the number of flows that are held.
	Holds int `json:"holds"`
	// Flows is the number of flows that are tracked.
	Flows Number `json:"tracked_flows"`

	rank int // of the state: 0 is the worst
}

// States of a line beside those of sluiced.
const (
	noAnswer   = "no answer"
	notRunning = "not running"
	staleState = "stale"
)

// ranks are states from the worst on; others come next, and running is last.
var ranks = []string{noAnswer, notRunning, staleState}

// NewFleet returns the lines of views, each of one switch, at a time.
func NewFleet(at time.Time, views []*View) *Fleet {
	f := &Fleet{Time: at.UTC(), Switches: []SwitchLine{}}
	for _, v := range views {
		f.add(v)
	}
	slices.SortStableFunc(f.Switches, func(a, b SwitchLine) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), descending(a.Dropped, b.Dropped), cmp.Compare(b.Holds, a.Holds),
			descending(a.WorstToMean, b.WorstToMean), rows.Natural(a.Switch, b.Switch))
	})
	f.all = f.Switches
	return f
}

// add adds the line of a view.
func (f *Fleet) add(v *View) {
	f.Switches = append(f.Switches, SwitchLine{})
	l := &f.Switches[len(f.Switches)-1]
	*l = SwitchLine{Switch: v.Host, State: v.State, Warnings: []string{}}
	switch {
	case v.Unread != "":
		l.State, l.Error = noAnswer, v.Unread
		return
	case v.State == "":
		l.State = notRunning
	case v.StaleSince != "":
		l.State = staleState
	}
	if l.rank = slices.Index(ranks, l.State); l.rank < 0 {
		l.rank = len(ranks)
		if l.State == "running" {
			l.rank++
		}
	}
	l.Warnings, l.WorstToMean, l.Dropped = v.Warnings, v.Paths.WorstToMean, v.dropped
	l.Holds, l.Flows = len(v.Holds), v.TrackedFlows
	for i := range v.Ports {
		p := &v.Ports[i]
		l.RxBits, l.TxBits = l.RxBits.plus(p.RxBits), l.TxBits.plus(p.TxBits)
		if p.Queue != nil && (l.Queue == nil || p.Queue.depth().value > l.Queue.depth().value) {
			l.Port, l.Queue = p.Name, p.Queue
		}
	}
}

// Skip drops the first n switches, keeps at least the last one, and returns how many it dropped.
func (f *Fleet) Skip(n int) int {
	n = max(0, min(n, len(f.Switches)-1))
	f.above, f.Switches = n, f.Switches[n:]
	return n
}

// Frame draws the lines, as many as fit the layout.
func (f *Fleet) Frame(l Layout) string {
	g := l.glyphs()
	out := []string{f.title()}
	room := len(f.Switches)
	if l.Height > 0 {
		most := max(2, l.Height/4)
		out = append(out, f.notes(most)...)
		room = l.Height - len(out) - 2 // an empty line, and the titles
		if l.Footer != "" {
			room--
		}
	} else {
		out = append(out, f.notes(len(f.Switches))...)
	}
	out = append(append(out, ""), f.table(g, l, max(1, room))...)
	return l.text(out, nil)
}

// title is the first line: how many switches there are, and of how many the state is bad.
func (f *Fleet) title() string {
	counts := map[string]int{}
	for _, s := range f.all {
		counts[s.State]++
	}
	parts := []string{fmt.Sprintf("%d switches", len(f.all)), f.Time.Format("15:04:05 UTC")}
	for _, state := range ranks {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, "  ")
}

// notes are the reasons of switches that did not answer, and the warnings of others.
func (f *Fleet) notes(most int) []string {
	var all []string
	for _, s := range f.all {
		if s.Error != "" {
			all = append(all, fmt.Sprintf("! %s: %s", s.Switch, s.Error))
		}
		for _, w := range s.Warnings {
			all = append(all, fmt.Sprintf("! %s: %s", s.Switch, w))
		}
	}
	if len(all) > most {
		left := len(all) - most + 1
		all = append(all[:most-1], fmt.Sprintf("! "+leftOutSay, left))
	}
	return all
}

// table draws the switches in n lines, besides the titles.
func (f *Fleet) table(g glyphs, l Layout, n int) []string {
	shown := f.Switches
	if n < len(shown) {
		shown = shown[:n-1] // the last line counts those left out
	}
	c := []column{{title: "SWITCH", left: true}, {title: "STATE", left: true}, {title: "MAX" + g.divided + "MEAN"}, {title: "DROP/S"}, {title: "HELD"}, {title: "QUEUE"}, {title: "RX-BIT/S"}, {title: "TX-BIT/S"}, {title: "FLOWS"}}
	for i := range shown {
		s := &shown[i]
		queue, held := "-", "-"
		if s.Queue != nil {
			queue = fmt.Sprintf("%s %s q%s", s.Queue.depth(), g.middle(s.Port, portName), s.Queue.Number)
		}
		if s.Error == "" {
			held = fmt.Sprint(s.Holds)
		}
		for i, cell := range []string{
			g.middle(s.Switch, switchName), s.State, s.WorstToMean.ratio(), s.Dropped.String(), held, queue, s.RxBits.String(), s.TxBits.String(), s.Flows.String(),
		} {
			c[i].cells = append(c[i].cells, cell)
		}
	}
	if l.Width > 0 {
		c = drop(c, l.Width, column.width, "FLOWS", "QUEUE", "RX-BIT/S", "TX-BIT/S", "HELD")
	}
	out := lines(c)
	left := ""
	if more := len(f.Switches) - len(shown); more > 0 {
		left = fmt.Sprintf(leftOutSay, more)
	}
	if f.above > 0 {
		left = strings.TrimPrefix(fmt.Sprintf("%s, %d above", left, f.above), ", ")
	}
	if left != "" {
		out = append(out, left)
	}
	return out
}

// switchName is how many characters the name of a switch has at most.
const switchName = 32
