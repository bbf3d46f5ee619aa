// SPDX-License-Identifier: Apache-2.0

package server

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"sluice/orchagent-ext/view/frame"
	"sluice/tests/browser"
	"sluice/tests/framestest"
)

// update draws the pictures of docs/view.md.
var update = flag.Bool("update", false, "draw the pictures of docs/view.md")

// keepScreen takes a screen, which is a picture of docs/view.md.
func keepScreen(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	content := p.Screen()
	if len(content) < 5000 {
		t.Errorf("%s: a screen of %d octets", name, len(content))
	}
	file := filepath.Join("../../../docs", name+".webp")
	if *update {
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("%v: go test ./orchagent-ext/view/server -run Browser -args -update", err)
	}
}

// open opens the page of a source.
func open(t *testing.T, p *browser.Page, s frame.Source) {
	t.Helper()
	address, _ := serve(t, Config{Source: s, Loopback: true}, nil)
	p.Go("http://" + address + "/")
	p.Wait("document.querySelector('.figures')")
}

// fine fails the test where the console has an error, or the page asked another server.
func fine(t *testing.T, p *browser.Page) {
	t.Helper()
	for _, w := range p.Wrong() {
		t.Error(w)
	}
	for _, url := range p.Asked() {
		if !strings.HasPrefix(url, "http://127.0.0.1:") && !strings.HasPrefix(url, "data:") && url != "about:blank" {
			t.Errorf("the page asked %s", url)
		}
	}
}

// TestBrowserShowsAFabric: the first screen, a link's flows, a flow's path, search, time, and the
// keyboard.
func TestBrowserShowsAFabric(t *testing.T) {
	p := browser.Open(t)
	source := newSeries(framestest.Fabric(10, 4, 4, true), framestest.Fabric(11, 4, 4, true))
	p.Look(1280, 1000, 1, false)
	open(t, p, source)
	for selector, want := range map[string][]string{
		".figures":     {"7 of 8", "3.04 · leaf1 Ethernet0", "holds 2"},
		".of-uplinks":  {"leaf1 3.04, 1 held", "down"},
		".of-queues":   {"leaf3 Ethernet44 3", "560 000", "fd00:1::1 → fd00:3::2 0x000012 524 288"},
		".of-holds":    {"leaf3 Ethernet44 queue 3 ▲ congested", "PFCM from leaf3 (fe80::3)", "PFCM from spine1 (fe80::101)", "131 072 octets wait"},
		".of-advice":   {"200 Mbit/s", "760 Mbit/s", "no"},
		".of-health":   {"0x000012 7 2 28 672"},
		".of-switches": {"leaf4", "did not answer: deadline exceeded after 1.5 s"},
	} {
		for _, text := range want {
			if got := p.Text(selector); !strings.Contains(strings.ReplaceAll(got, "▲ ", ""), strings.ReplaceAll(text, "▲ ", "")) {
				t.Errorf("%s has no %q: %s", selector, text, got)
			}
		}
	}
	if got := p.Text("table.heat tbody tr:first-child th"); got != "leaf1" {
		t.Errorf("the worst switch is %q", got)
	}

	p.Click(".cell[aria-label*='of leaf1 Ethernet0 to']")
	p.Wait("document.querySelector('.of-chosen')")
	if got := p.Text(".of-chosen"); !strings.Contains(got, "Flows of leaf1 Ethernet0") || !strings.Contains(got, "To spine1 Ethernet0") || !strings.Contains(got, "0x000012") {
		t.Errorf("the flows of a link: %s", got)
	}
	p.Click(".of-chosen .flow")
	p.Wait("document.querySelectorAll('.map .link.lit').length == 2")
	if got := p.Text(".of-chosen"); !strings.Contains(got, "queue pair 0x000012") || !strings.Contains(got, "leaf1 Ethernet40 Ethernet0") || !strings.Contains(got, "leaf3 Ethernet0 Ethernet44") {
		t.Errorf("the path of a flow: %s", got)
	}
	if n := browser.Eval[int](p, "document.querySelectorAll('.cell.lit').length"); n != 4 { // two ports of spine1, one of each leaf
		t.Errorf("%d cells are lit", n)
	}
	browser.Eval[bool](p, "(scrollTo(0, 0), true)")
	keepScreen(t, p, "view-flow")
	p.Click(".of-chosen button")
	p.Wait("!document.querySelector('.of-chosen')")

	// search
	browser.Eval[bool](p, "document.querySelector('.search input').focus() || true")
	p.Press("0x12")
	p.Wait("document.querySelector('.parts > .note')?.innerText.includes('Found 1 flows')")
	p.Press(strings.Repeat(kb.Backspace, 4))
	p.Wait("!document.querySelector('.parts > .note')")
	p.Press("fd00:dead::")
	p.Wait("document.querySelector('.parts > .note')?.innerText.includes('Found 0 flows')")
	for selector, want := range map[string]string{
		".of-flows": "None of the 13 flows is as searched for.", ".of-queues": "None of the 13 queues is", ".of-holds": "0 of 1 trees",
		".of-health": "None of the 13 queue pairs is", ".of-advice": "None of the 1 advised senders is", ".figures": "holds 2",
	} {
		if got := p.Text(selector); !strings.Contains(got, want) {
			t.Errorf("%s of a search that finds nothing has no %q: %s", selector, want, got)
		}
	}
	p.Press(strings.Repeat(kb.Backspace, 11))
	p.Wait("!document.querySelector('.parts > .note')")

	// a change arrives, and the past stays
	source.add(framestest.Fabric(12, 4, 4, false))
	p.Wait("document.querySelector('.figures').innerText.includes('8 of 8')")
	browser.Eval[bool](p, "[...document.querySelectorAll('.time button')].find(b => b.innerText == 'pause').click() || true")
	p.Wait("document.querySelector('.at').innerText.includes('paused')")
	browser.Eval[bool](p, "[...document.querySelectorAll('.time button')].find(b => b.innerText == '−10 s').click() || true")
	p.Wait("document.querySelector('.at').dataset.at == '2026-11-27T12:00:10Z' && document.querySelector('.figures').innerText.includes('7 of 8')")
	browser.Eval[bool](p, "[...document.querySelectorAll('.time button')].find(b => b.innerText == 'live again').click() || true")
	p.Wait("document.querySelector('.at').dataset.at == '2026-11-27T12:00:12Z'")

	// the keyboard reaches a link of the map, and Enter shows its flows
	browser.Eval[bool](p, "document.querySelector('.map .link').focus() || true")
	if got := browser.Eval[string](p, "document.activeElement.className.baseVal"); got != "link" {
		t.Errorf("%q has the focus", got)
	}
	p.Press(kb.Enter)
	p.Wait("document.querySelector('.of-chosen')")
	fine(t, p)
}

// TestBrowserShowsThePast: what has ended begins at its second picture, which has rates, and is played to its
// end. Figures that no switch has are dashes.
func TestBrowserShowsThePast(t *testing.T) {
	p := browser.Open(t)
	source := newSeries()
	for i := range 4 {
		source.add(framestest.Fabric(i, 2, 2, false))
	}
	open(t, p, past{source})
	if at, figures := browser.Eval[string](p, "document.querySelector('.at').dataset.at"), p.Text(".figures"); at != "2026-11-27T12:00:01Z" || !strings.Contains(figures, "· leaf1 Ethernet0") {
		t.Errorf("it begins at %s: %s", at, figures)
	}
	browser.Eval[bool](p, "[...document.querySelectorAll('.time button')].find(b => b.innerText == 'play').click() || true")
	p.Wait("document.querySelector('.at').dataset.at == '2026-11-27T12:00:03Z'")

	bare := framestest.Fabric(0, 2, 2, false)
	for i := range bare.Switches {
		bare.Switches[i].Rows = nil
	}
	open(t, p, newSeries(bare))
	p.Wait("document.querySelector('.of-series')")
	for selector, want := range map[string]string{".of-series": "Drops a second: –", ".figures": "drops a second at uplinks –", ".of-switches": "not-running"} {
		if got := p.Text(selector); !strings.Contains(got, want) {
			t.Errorf("%s has no %q: %s", selector, want, got)
		}
	}
	fine(t, p)
}

// TestBrowserAsksAgainAfterARefusal: a server that has no place for another client has one later.
func TestBrowserAsksAgainAfterARefusal(t *testing.T) {
	p := browser.Open(t)
	address, _ := serve(t, Config{Source: newSeries(framestest.Fabric(1, 2, 2, false)), Streams: 1}, nil)
	answer, err := http.Get("http://" + address + "/api/stream")
	if err != nil {
		t.Fatal(err)
	}
	p.Go("http://" + address + "/")
	p.Wait("document.querySelector('.time')?.innerText.includes('waiting for the server')")
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	p.Wait("document.querySelector('.figures')")
}

// TestBrowserShowsHostileNamesAsText: markup, escapes and 10 kB in names of switches, ports and
// flows.
func TestBrowserShowsHostileNamesAsText(t *testing.T) {
	p := browser.Open(t)
	for _, name := range []string{`<img src=x onerror="document.title='owned'">`, "\x1b[31mred\u202e\"'><script>document.title='owned'</script>", strings.Repeat("leaf", 2500)} {
		f, before := framestest.Fabric(11, 3, 2, false), framestest.Fabric(10, 3, 2, false)
		for _, of := range []*frame.Frame{f, before} {
			for i := range of.Switches {
				s := &of.Switches[i]
				s.Name += name
				for _, r := range s.Rows {
					for _, field := range []string{"src", "neighbor", "egress_port", "reason", "from", "state"} {
						if r.Fields[field] != "" {
							r.Fields[field] += name
						}
					}
				}
			}
		}
		open(t, p, newSeries(before, f))
		p.Wait("document.querySelectorAll('.cell').length > 0")
		p.Click(".flow")
		p.Wait("document.querySelector('.of-chosen')")
		if got := browser.Eval[string](p, "document.title"); got != "Sluice" {
			t.Errorf("%.40q: the title is %q", name, got)
		}
		if n := browser.Eval[int](p, "document.querySelectorAll('img, main script').length"); n != 0 {
			t.Errorf("%.40q: %d elements", name, n)
		}
		if over := browser.Eval[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("%.40q: the page is %d px wider than its window", name, over)
		}
		fine(t, p)
	}
}

// TestBrowserFindsNoFaultOfAccess: axe-core has no finding, light and dark, wide, at 400 px and at a
// zoom of 200 %, with a flow chosen; and nothing leaves the window at its right.
func TestBrowserFindsNoFaultOfAccess(t *testing.T) {
	p := browser.Open(t)
	open(t, p, newSeries(framestest.Fabric(10, 4, 4, true), framestest.Fabric(11, 4, 4, true)))
	findings := 0
	for _, look := range []struct {
		name          string
		width, height int64
		zoom          float64
		dark, drawn   bool
	}{{"light", 1280, 1000, 1, false, true}, {"dark", 1280, 1000, 1, true, true}, {"light-400", 400, 900, 1, false, false}, {"dark-400", 400, 900, 1, true, false}, {"zoom", 1280, 1000, 2, false, false}} {
		p.Look(look.width, look.height, look.zoom, look.dark)
		p.Click(".of-queues .flow")
		p.Wait("document.querySelector('.of-chosen table')")
		for _, finding := range p.Axe() {
			findings++
			t.Errorf("%s: %s", look.name, finding)
		}
		if over := browser.Eval[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("%s: the page is %d px wider than its window", look.name, over)
		}
		p.Click(".of-chosen button")
		p.Wait("!document.querySelector('.of-chosen')")
		if look.drawn {
			browser.Eval[bool](p, "(document.activeElement.blur(), scrollTo(0, 0), true)")
			keepScreen(t, p, "view-"+look.name)
		}
	}
	fine(t, p)
	browser.Record(t, "axe", findings)
}
