// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// scenariosFile has scenarios as text. A scenario begins with "scenario NAME"; each line after it is a
// step, and the indented lines below a step are what it is to print:
//
//	switch [hold-pair] [no-speed]        another switch, with these options; the first one has none
//	receive PORT pause STREAM µs         a PFCM of the neighbor at a port
//	receive PORT reduce STREAM % µs
//	receive PORT cancel STREAM
//	at TIME, wait TIME                   lets time pass, to one since the begin of the switch, or for one
//	match PORT STREAM octets packets     what a hold has counted
//	holds                                prints the holds of the switch
//	count NAME…                          prints counters
//
// Lines that begin with # are comments.
const scenariosFile = "testdata/scenarios.txt"

// portNames are the ports as scenarios name them.
var portNames = map[string]sai.ObjectID{"up": up, "other": other, "host": host, "border": borderPort, "down1": down1, "down2": down2}

// stage is a scenario that is played.
type stage struct {
	*fake
	t     *testing.T
	start int64
}

// play plays a scenario of [scenariosFile].
func play(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(scenariosFile)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\nscenario "+name+"\n")
	if !found {
		t.Fatalf("%s has no scenario %q", scenariosFile, name)
	}
	scenario, _, _ := strings.Cut(after, "\nscenario ")
	s := &stage{t: t}
	s.begin(nil)
	lines := strings.Split(strings.TrimRight(scenario, "\n"), "\n")
	for len(lines) > 0 {
		step, want := lines[0], []string(nil)
		for lines = lines[1:]; len(lines) > 0 && strings.HasPrefix(lines[0], "  "); lines = lines[1:] {
			want = append(want, strings.TrimSpace(lines[0]))
		}
		words := strings.Fields(step)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if got := s.step(words[0], words[1:]); !slices.Equal(got, want) {
			t.Errorf("%s: %q prints\n  %s\nwant\n  %s", name, step, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
}

// begin makes a switch.
func (s *stage) begin(options []string) {
	c := config()
	for _, option := range options {
		switch option {
		case "hold-pair":
			c.HoldPair = true
		case "no-speed":
			c.Ports[0].Speed = 0
		default:
			s.t.Fatalf("option %q", option)
		}
	}
	s.fake = newFake(s.t, c)
	s.start = s.now
}

// step does a step, and returns the lines that it prints.
func (s *stage) step(name string, words []string) []string {
	switch name {
	case "switch":
		s.begin(words)
	case "receive":
		s.receive(s.port(words[0]), s.message(words[1:]))
	case "at":
		s.until(s.start + s.duration(words[0]))
	case "wait":
		s.until(s.now + s.duration(words[0]))
	case "match":
		s.match[onStream(s.port(words[0]), uint16(s.number(words[1])))] = sai.HoldState{Octets: s.number(words[2]), Packets: s.number(words[3])}
	case "holds":
		return s.printHolds()
	case "count":
		return s.printCounts(words)
	default:
		s.t.Fatalf("step %q", name)
	}
	return nil
}

// message returns the PFCM of some words.
func (s *stage) message(words []string) notify.PFCM {
	m := notify.PFCM{StreamID: uint16(s.number(words[1])), QueueID: 3}
	switch words[0] {
	case "pause":
		m.Action, m.Time = notify.Pause, uint16(s.number(words[2]))
	case "reduce":
		m.Action, m.Time = notify.Reduce(int(s.number(words[2]))), uint16(s.number(words[3]))
	case "cancel":
		m.Action = notify.Cancel
	default:
		s.t.Fatalf("action %q", words[0])
	}
	return m
}

// printHolds prints each hold of the switch, with its end since the begin.
func (s *stage) printHolds() (lines []string) {
	names := map[sai.ObjectID]string{}
	for name, id := range portNames {
		names[id] = name
	}
	for of, h := range s.holds {
		line := fmt.Sprintf("%s stream %d until %v", names[of.Port], of.Match.Value, time.Duration(h.until-s.start))
		if of.Match.Kind == sai.HoldPair {
			line = fmt.Sprintf("%s pair until %v", names[of.Port], time.Duration(h.until-s.start))
		}
		if h.rate != 0 {
			line += fmt.Sprintf(" rate %d", h.rate)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// printCounts prints counters in a line.
func (s *stage) printCounts(names []string) []string {
	all := reflect.ValueOf(s.core.kernel.Counters)
	var words []string
	for _, name := range names {
		n := all.FieldByName(name)
		if !n.IsValid() {
			s.t.Fatalf("counter %q", name)
		}
		words = append(words, fmt.Sprint(name, " ", n.Uint()))
	}
	return []string{strings.Join(words, ", ")}
}

func (s *stage) port(name string) sai.ObjectID {
	id, is := portNames[name]
	if !is {
		s.t.Fatalf("port %q", name)
	}
	return id
}

func (s *stage) duration(text string) int64 {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return int64(d)
}

func (s *stage) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}
