// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFigureHasRoomForItsLabels: no label of an axis leaves the frame, by the width of a letter that a
// browser takes.
func TestFigureHasRoomForItsLabels(t *testing.T) {
	f := Figure{
		Title: "t", Names: []string{"none"}, Curves: []Curve{{Of: 0, Points: []Position{{0, 0}, {1, 1}}}},
		X: []Tick{{At: 0, Label: "100 ns"}, {At: 1, Label: "100 ms"}}, Y: []Tick{{At: 0, Label: "0 %"}, {At: 1, Label: "100 %"}},
	}
	var s strings.Builder
	if err := f.SVG(&s); err != nil {
		t.Fatal(err)
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	width := number(regexp.MustCompile(`<svg[^>]* width="([0-9.]+)"`).FindStringSubmatch(s.String())[1])
	texts := regexp.MustCompile(`<text x="([0-9.]+)"[^>]*font-size="([0-9.]+)"([^>]*)>([^<]*)<`).FindAllStringSubmatch(s.String(), -1)
	if len(texts) != 4 {
		t.Fatalf("%d texts in %s", len(texts), &s)
	}
	for _, m := range texts {
		const em = 0.62 // of a letter, on the average of DejaVu Sans
		x, long := number(m[1]), em*number(m[2])*float64(utf8.RuneCountInString(m[4]))
		left := x - long/2
		if strings.Contains(m[3], "end") {
			left = x - long
		}
		if left < 0 || left+long > width {
			t.Errorf("%q is from %.0f to %.0f of %.0f", m[4], left, left+long, width)
		}
	}
}

// TestHeatIsDarkerWhereMoreGoes: a cell for each load, with its figure as a tooltip.
func TestHeatIsDarkerWhereMoreGoes(t *testing.T) {
	h := Heat{Title: "t", Row: "leaf", Column: "uplink", Of: [][]float64{{0, 1}, {2.5, 9}}}
	var s strings.Builder
	if err := h.SVG(&s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`fill-opacity="0.00" stroke="#8884"><title>leaf 0, uplink 0: 0.00 times the mean<`, `fill-opacity="0.40" stroke="#8884"><title>leaf 0, uplink 1: 1.00 times`,
		`fill-opacity="1.00" stroke="#8884"><title>leaf 1, uplink 0: 2.50 times`, `fill-opacity="1.00" stroke="#8884"><title>leaf 1, uplink 1: 9.00 times`,
	} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("no %s in\n%s", want, &s)
		}
	}
	if HeatPart(math.NaN()) > 1 || HeatPart(-1) != 0 {
		t.Error("a load that is no number has a color")
	}
}
