// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestTimelinesAreWellFormedAndOnOneScale(t *testing.T) {
	courses := []Course{
		{Title: "none <&>", Note: "a", Plots: []Plot{
			{Title: "Mbit/s", Lines: []Line{{"victims", []Point{{0, 10}, {1, 50}}}}},
			{Title: "holds", Spans: []Spans{{"edge", []Span{{0.2, 0.4}, {2, 9}}}}},
		}},
		{Title: "pfcm", Plots: []Plot{{Title: "Mbit/s", Lines: []Line{{"victims", []Point{{0, 100}, {1, math.Inf(1)}, {2, -3}}}}}}},
		{Title: "empty"},
	}
	var out bytes.Buffer
	if err := Timelines(&out, "title", 3, courses); err != nil {
		t.Fatal(err)
	}
	svg := out.String()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
	}
	if got := strings.Count(svg, ">100</text>"); got != 2 {
		t.Errorf("the scale of 100 is said %d times, want once a course that has the plot\n%s", got, svg)
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("a coordinate is no number")
	}
}

// TestFirstHourNotesStayInTheirCourse: a long note gets smaller characters, so that it fits in the
// widest usual font, too; and a single course is as wide as the title of the picture.
func TestFirstHourNotesStayInTheirCourse(t *testing.T) {
	note := "victims 100 %, elephants 100 %, 12345 packets dropped, deepest queue 1048576 kB, and some more words to make it long"
	var out bytes.Buffer
	if err := Timelines(&out, "title", 3, []Course{{Title: "a", Note: note}, {Title: "b", Note: "short"}}); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]float64{}
	for _, m := range regexp.MustCompile(`<text [^>]*font-size="([0-9.]+)"[^>]*>([^<]*)</text>`).FindAllStringSubmatch(out.String(), -1) {
		sizes[m[2]], _ = strconv.ParseFloat(m[1], 64)
	}
	if got := textWidth(note, sizes[note]) * regular; got > courseWidth+1 || got < courseWidth-20 {
		t.Errorf("the note is %.0f wide of %d: %v", got, int(courseWidth), sizes)
	}
	if sizes["short"] != noteSize {
		t.Errorf("a short note has size %v", sizes["short"])
	}
	out.Reset()
	title := strings.Repeat("a title of words ", 6)
	if err := Timelines(&out, title, 3, []Course{{Title: "a"}}); err != nil {
		t.Fatal(err)
	}
	width, _ := strconv.ParseFloat(regexp.MustCompile(`<svg[^>]* width="([0-9.]+)"`).FindStringSubmatch(out.String())[1], 64)
	if want := 2*margin + textWidth(title, titleSize)*wider; width < want-1 {
		t.Errorf("the title ends at %.0f, the picture at %.0f", want, width)
	}
}

// TestFirstHourNamesOfALegendStayApart: they end where the plot does, and bold words do not touch.
func TestFirstHourNamesOfALegendStayApart(t *testing.T) {
	var out bytes.Buffer
	held := Plot{Title: "held, by", Spans: []Spans{{Name: "core"}, {Name: "aggregation"}, {Name: "edge"}}}
	if err := Timelines(&out, "title", 3, []Course{{Title: "a", Plots: []Plot{held}}}); err != nil {
		t.Fatal(err)
	}
	const perOctet = 0.64 * tickSize // of DejaVu Sans Bold, as a browser draws it
	end := margin + courseWidth
	for _, name := range []string{"edge", "aggregation", "core"} {
		m := regexp.MustCompile(`<text x="([0-9.]+)"[^>]* text-anchor="end">` + name + `<`).FindStringSubmatch(out.String())
		if m == nil {
			t.Fatalf("%s is not in the legend", name)
		}
		if x, _ := strconv.ParseFloat(m[1], 64); x > end+0.01 {
			t.Errorf("%s ends at %.0f, and the next word begins at %.0f", name, x, end)
		} else {
			end = x - perOctet*float64(len(name)) - 4
		}
	}
}
