// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axe is axe-core.
//
//go:embed axe/axe.min.js
var axe string

// patience is how long a test waits for a page.
const patience = time.Minute

// Page is a page in a browser of its own.
type Page struct {
	t   *testing.T
	ctx context.Context

	mu sync.Mutex
	// wrong has the errors of the console, exceptions of scripts and requests elsewhere.
	wrong []string
	asked []string // URLs
}

// Open starts a browser, and skips the test where there is none, or where SLUICE_SOAK is not set.
func Open(t *testing.T) *Page {
	t.Helper()
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("a browser takes long: make soak CHECKS=view, or SLUICE_SOAK=1")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing: apt-get install chromium (make soak does)")
	}
	allocator, end := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.WSURLReadTimeout(patience))...)
	t.Cleanup(end)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // it ends in any case
		stop()
	})
	p := &Page{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, p.event)
	p.Do(network.Enable(), runtime.Enable(), log.Enable())
	return p
}

// event keeps errors and the addresses of requests.
func (p *Page) event(e any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		p.wrong = append(p.wrong, "exception: "+e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			var text []string
			for _, a := range e.Args {
				text = append(text, string(a.Value)+a.Description)
			}
			p.wrong = append(p.wrong, "console: "+strings.Join(text, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			p.wrong = append(p.wrong, "log: "+e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, e.Request.URL)
	}
}

// Wrong returns the errors so far, and forgets them.
func (p *Page) Wrong() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.wrong
	p.wrong = nil
	return all
}

// Asked returns the addresses that were asked for.
func (p *Page) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.asked...)
}

// Do carries out actions. An error ends the test.
func (p *Page) Do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// Go opens an address.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(url))
}

// Look sets the size of the window, px, how often a px of the page is larger, and the color scheme of the system.
func (p *Page) Look(width, height int64, zoom float64, dark bool) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	// a zoom of 2 leaves half of the window's px to the page
	p.Do(emulation.SetDeviceMetricsOverride(int64(float64(width)/zoom), int64(float64(height)/zoom), zoom, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// Eval returns the value of a script's expression.
func Eval[T any](p *Page, script string) T {
	p.t.Helper()
	var v T
	p.Do(chromedp.Evaluate(script, &v))
	return v
}

// Wait waits until an expression is true.
func (p *Page) Wait(script string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Poll("Boolean("+script+")", nil, chromedp.WithPollingTimeout(patience))); err != nil {
		p.t.Fatalf("wait for %s: %v; the page has: %.2000s", script, err, Eval[string](p, "document.body.innerText"))
	}
}

// Click clicks the first element of a selector, which must be there.
func (p *Page) Click(selector string) {
	p.t.Helper()
	if !Eval[bool](p, fmt.Sprintf("(e => { if (!e) return false; e.scrollIntoView(); e.dispatchEvent(new MouseEvent('click', { bubbles: true })); return true })(document.querySelector(%s))", quote(selector))) {
		p.t.Fatalf("no element %s", selector)
	}
}

// Press presses keys, as chromedp's package kb names them.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.Do(chromedp.KeyEvent(keys))
}

// quote returns a text as a script has it.
func quote(s string) string {
	q, _ := json.Marshal(s) // a text always has one
	return string(q)
}

// Text returns the text of the first element of a selector, with one blank for each white space.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return Eval[string](p, fmt.Sprintf(`(document.querySelector(%s) || { innerText: "" }).innerText.replace(/[\s\u202f]+/g, " ")`, quote(selector)))
}

// Axe returns the findings of axe-core, one a line.
func (p *Page) Axe() []string {
	p.t.Helper()
	var all []string
	p.Do(chromedp.Evaluate(axe+";0", nil),
		chromedp.Evaluate(`axe.run().then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + (n.any[0] || n.all[0] || n.none[0] || {}).message).join(" | ")))`, &all,
			func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return all
}

// quality of a screen, 0 to 100.
const quality = 70

// Screen returns a screen as WebP.
func (p *Page) Screen() []byte {
	p.t.Helper()
	var content []byte
	p.Do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		content, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatWebp).WithQuality(quality).Do(ctx)
		return err
	}))
	return content
}
