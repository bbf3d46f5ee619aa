// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFigureHasRoomForItsTexts: neither names of bars, nor their values, nor the title leave the frame,
// by the width of a letter that a browser takes.
func TestFigureHasRoomForItsTexts(t *testing.T) {
	long := strings.Repeat("placement+", 6) + "pfcm"
	for name, f := range map[string]*Figure{
		"short":      {Title: "t", Names: []string{"none"}, Beams: []Beam{{0, 1, 1, "1.18 ms"}}},
		"long name":  {Title: "t", Names: []string{"none", long}, Beams: []Beam{{0, 1, 1, "2 s"}, {1, 0.5, 0.7, "123.45 seconds at least"}}},
		"long title": {Title: strings.Repeat("a load with a name that is long ", 5), Names: []string{"none"}, Beams: []Beam{{0, 1, 1, "1 s"}}},
		"curve":      {Title: "t", Names: []string{long}, Curves: []Curve{{Of: 0, Points: []Position{{0, 0}, {1, 1}}}}},
	} {
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
		if len(texts) < 2 {
			t.Fatalf("%s: %d texts in %s", name, len(texts), &s)
		}
		for _, m := range texts {
			const em = 0.58 // of a letter, on the average of sans-serif
			if right := number(m[1]) + em*number(m[2])*float64(utf8.RuneCountInString(m[4])); !strings.Contains(m[3], "anchor") && right > width {
				t.Errorf("%s: %q ends at %.0f of %.0f", name, m[4], right, width)
			}
		}
	}
}
