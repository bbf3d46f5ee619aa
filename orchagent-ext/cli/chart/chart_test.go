// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is 64 queue pairs of one host pair on 8 paths.
func sample() []Group {
	group := func(title string, note string, mebibytes ...float64) Group {
		g := Group{Title: title, Note: note}
		for i, v := range mebibytes {
			g.Bars = append(g.Bars, Bar{fmt.Sprint("path ", i), v, fmt.Sprintf("%.1f MiB", v)})
		}
		return g
	}
	return []Group{
		group("5-tuple", "max ÷ mean 8.00, 7 paths empty", 0, 0, 0, 0, 0, 1024, 0, 0),
		group("label in the packet", "max ÷ mean 8.00, 7 paths empty", 0, 0, 0, 0, 0, 1024, 0, 0),
		group("label draft-literal", "max ÷ mean 1.30", 128, 112, 166.4, 96, 144, 128, 113.6, 136),
		group("label crc32", "max ÷ mean 1.40", 96, 179.2, 112, 128, 144, 104, 140.8, 120),
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestTextGolden(t *testing.T) {
	var out bytes.Buffer
	if err := Text(&out, sample(), 72); err != nil {
		t.Fatal(err)
	}
	golden(t, "balance.txt", out.Bytes())
}

func TestSVGGolden(t *testing.T) {
	var out bytes.Buffer
	if err := SVG(&out, "64 queue pairs of one host pair on 8 equal-cost paths", sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "balance.svg", out.Bytes())
}

// The mean of the largest numbers there are is not rounded beyond them.
func TestMeanIsFinite(t *testing.T) {
	top := Bar{Value: math.MaxFloat64}
	for n := range 9 {
		g := Group{Bars: make([]Bar, n+1)}
		for i := range g.Bars {
			g.Bars[i] = top
		}
		if got := g.mean(); got > top.Value || got < top.Value*(1-1e-9) {
			t.Errorf("mean of %d bars of %g: %g", n+1, top.Value, got)
		}
	}
}

// Whatever the texts and values, the image is well-formed, refers to nothing
// outside and runs nothing.
func TestSVGWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		title := rapid.String().Draw(t, "title")
		if err := SVG(&out, title, rapid.SliceOfN(anyGroup, 0, 9).Draw(t, "groups")); err != nil {
			t.Fatal(err)
		}
		if s := out.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
			t.Errorf("a coordinate is not finite:\n%s", s)
		}
		for d := xml.NewDecoder(&out); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			switch e.Name.Local {
			case "svg", "title", "desc", "g", "rect", "path", "text":
			default:
				t.Errorf("element %q", e.Name.Local)
			}
			for _, a := range e.Attr {
				if a.Name.Local == "href" || strings.Contains(a.Value, "url(") {
					t.Errorf("%s refers to %q", e.Name.Local, a.Value)
				}
			}
		}
	})
}

var anyGroup = rapid.Custom(func(t *rapid.T) Group {
	bar := rapid.Custom(func(t *rapid.T) Bar {
		values := rapid.OneOf(rapid.Float64Range(0, 1000), rapid.SampledFrom([]float64{0, -1, 1e-300, math.MaxFloat64, math.Inf(1), math.NaN()}))
		return Bar{plain.Draw(t, "label"), values.Draw(t, "value"), plain.Draw(t, "text")}
	})
	return Group{plain.Draw(t, "title"), plain.Draw(t, "note"), rapid.SliceOfN(bar, 0, 40).Draw(t, "bars")}
})

// plain leaves out N and I, so that NaN and Inf in an image come from numbers.
var plain = rapid.StringMatching(`[a-z0-9<>&"' ]{0,12}`)

// Escaped text comes back as it was.
func TestSVGText(t *testing.T) {
	const title = `<script>"&'</script>`
	var out bytes.Buffer
	if err := SVG(&out, title, []Group{{Title: title, Note: title, Bars: []Bar{{title, 1, title}}}}); err != nil {
		t.Fatal(err)
	}
	var image struct {
		Title string `xml:"title"`
		Desc  string `xml:"desc"`
	}
	if err := xml.Unmarshal(out.Bytes(), &image); err != nil {
		t.Fatal(err)
	}
	if image.Title != title || !strings.Contains(image.Desc, title) {
		t.Errorf("title %q, description %q", image.Title, image.Desc)
	}
}

// The longest bar of all ends at the width asked for, the others are in proportion,
// and no value above 0 vanishes.
func TestBarsAreInProportion(t *testing.T) {
	var out bytes.Buffer
	groups := []Group{
		{"first", "note", []Bar{{"a", 100, "100"}, {"bb", 50, "50"}, {"c", 0, "0"}}},
		{"second", "", []Bar{{"d", 200, "200"}, {"e", 1e-9, "0.1"}, {"f", math.NaN(), "?"}, {"g", -3, "-3"}}},
	}
	if err := Text(&out, groups, 31); err != nil {
		t.Fatal(err)
	}
	want := `first  note
  a   100  ██████████
  bb   50  █████
  c     0

second
  d   200  ████████████████████
  e   0.1  ▏
  f     ?
  g    -3
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTextWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfN(anyGroup, 0, 4).Draw(t, "groups")
		width := rapid.IntRange(40, 200).Draw(t, "width") // labels and values take 30 at most
		var out bytes.Buffer
		if err := Text(&out, groups, width); err != nil {
			t.Fatal(err)
		}
		for s := range strings.Lines(out.String()) {
			if strings.HasPrefix(s, "  ") && utf8.RuneCountInString(strings.TrimSuffix(s, "\n")) > width {
				t.Errorf("longer than %d columns: %q", width, s)
			}
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("full")

func TestWriteError(t *testing.T) {
	if err := Text(full{}, sample(), 80); !errors.Is(err, errFull) {
		t.Errorf("Text: %v", err)
	}
	if err := SVG(full{}, "", sample()); !errors.Is(err, errFull) {
		t.Errorf("SVG: %v", err)
	}
}
