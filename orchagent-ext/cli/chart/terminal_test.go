// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// TestTerminalShowsEveryColumn: lines are broken between words, in the last half of the width, none is lost, and the picture is
// well-formed, with the text for those who do not see it, in colors for light and dark pages, without
// anything from elsewhere.
func TestTerminalShowsEveryColumn(t *testing.T) {
	text := "$ sluice doctor <a&b> " + strings.Repeat("x", 20) + "\nok     max ÷ mean → 1.00\n\n" + strings.Repeat("0123456789", 3) + "\n"
	var s strings.Builder
	if err := Terminal(&s, "sluice <doctor>", 20, text); err != nil {
		t.Fatal(err)
	}
	picture := s.String()
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, picture)
		}
	}
	got := ""
	unescape := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	for _, m := range regexp.MustCompile(`<text [^>]*class="(text|typed)"[^>]*>([^<]*)</text>`).FindAllStringSubmatch(picture, -1) {
		line := unescape.Replace(m[2])
		if n := len([]rune(line)); n > 20 {
			t.Errorf("%d columns: %q", n, line)
		}
		got += m[1] + ":" + line + "\n"
	}
	want := "typed:$ sluice doctor\ntyped:<a&b> xxxxxxxxxxxxxx\ntyped:xxxxxx\ntext:ok     max ÷ mean →\ntext:       1.00\ntext:01234567890123456789\ntext:0123456789\n"
	if got != want {
		t.Errorf("lines\n%s\nwant\n%s", got, want)
	}
	for _, part := range []string{"prefers-color-scheme:dark", "<desc id=\"text\">$ sluice doctor &lt;a&amp;b&gt;"} {
		if !strings.Contains(picture, part) {
			t.Errorf("no %s in\n%s", part, picture)
		}
	}
	for _, part := range []string{"@import", "url(", "href"} {
		if strings.Contains(picture, part) {
			t.Errorf("%s in\n%s", part, picture)
		}
	}
}
