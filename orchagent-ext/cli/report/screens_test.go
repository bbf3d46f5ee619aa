// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// screens keeps the screens for people who look at them.
var screens = flag.String("screens", "", "folder for the screens of the page and of the pictures in docs")

// looks are the ways in which a picture is looked at: widths in px of a desk and of a telephone, and the
// color scheme of Chromium's blink-settings.
var looks = []struct {
	name          string
	width, scheme int
}{{"light", 1280, 1}, {"dark", 1280, 0}, {"light-400", 400, 1}, {"dark-400", 400, 0}}

// overflow makes a list of elements that leave the page at its right, the title of the document. Tables
// scroll by themselves.
const overflow = `<script>document.title = "width " + innerWidth + " out:" + [...document.querySelectorAll("body *")].filter(e => !e.closest("table") && !e.closest("script") &&
 e.getBoundingClientRect().right > 1 + __WIDTH__).map(e => " " + e.tagName + "=" + e.textContent.slice(0, 30)).join()</script>`

// TestBrowserShowsThePage: headless Chromium lays the page out at 1280 and 400 px, light and dark; it
// finds the table's rows and the plots in its tree, and each element is within its width. It takes a
// screen of each, and of each picture in docs, which has more colors than a background.
func TestBrowserShowsThePage(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing: apt-get install chromium (make sim does)")
	}
	dir := t.TempDir()
	var page bytes.Buffer
	if err := document(t).HTML(&page); err != nil {
		t.Fatal(err)
	}
	pictures, err := filepath.Glob("../../../docs/*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("no pictures: %v", err)
	}
	chromium := func(scheme, width int, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), browser, append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + filepath.Join(dir, "profile"),
			fmt.Sprint("--blink-settings=preferredColorScheme=", scheme), fmt.Sprintf("--window-size=%d,1600", max(width, 500)),
		}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	for _, look := range looks {
		// a window has 500 px at least: a narrower page is as narrow by its own style
		narrow := fmt.Sprintf("<style>html { width: %dpx; overflow-x: hidden }</style>", look.width)
		file := filepath.Join(dir, look.name+".html")
		content := strings.Replace(page.String(), "</body>", narrow+strings.ReplaceAll(overflow, "__WIDTH__", fmt.Sprint(look.width))+"</body>", 1)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		dom := chromium(look.scheme, look.width, "--dump-dom", "file://"+file)
		if strings.Count(dom, "<tr") != 5 || strings.Count(dom, "</svg>") != 6 || !strings.Contains(dom, "a &lt; b &amp; c") {
			t.Errorf("%s: the browser's tree:\n%s", look.name, dom)
		}
		if m := regexp.MustCompile(`<title>width \d+ out:([^<]*)</title>`).FindStringSubmatch(dom); m == nil || m[1] != "" {
			t.Errorf("%s: elements leave the page: %q", look.name, m)
		}
		for _, source := range append([]string{file}, pictures...) {
			source, err := filepath.Abs(source)
			if err != nil {
				t.Fatal(err)
			}
			shown := "file://" + source
			if strings.HasSuffix(source, ".svg") { // as a page of docs shows it
				holder := filepath.Join(dir, filepath.Base(source)+".html")
				text := fmt.Sprintf(`<!DOCTYPE html><meta name="color-scheme" content="light dark"><body style="margin: 0; width: %dpx"><img src="%s" style="max-width: 100%%">`, look.width, shown)
				if err := os.WriteFile(holder, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				shown = "file://" + holder
			}
			screen := filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))+"-"+look.name+".png")
			chromium(look.scheme, look.width, "--screenshot="+screen, shown)
			judge(t, screen)
		}
	}
}

// judge fails where a screen has hardly a color, and keeps it where that is asked for.
func judge(t *testing.T, screen string) {
	t.Helper()
	content, err := os.ReadFile(screen)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	colors := map[[3]uint32]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			colors[[3]uint32{r >> 12, g >> 12, b >> 12}] = true
		}
	}
	if len(colors) < 8 {
		t.Errorf("%s has %d colors", filepath.Base(screen), len(colors))
	}
	if *screens != "" {
		if err := os.WriteFile(filepath.Join(*screens, filepath.Base(screen)), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
