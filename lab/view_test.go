// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/orchagent-ext/view/picture"
	"sluice/tests/browser"
)

// update draws the picture of docs/view.md.
var update = flag.Bool("update", false, "draw the picture of the lab in docs/view.md")

// A page is sluice view on the lab, as the block of docs/lab.md starts it.
type page struct {
	*testing.T
	lab     string // the program
	address string
}

// run returns what a command writes, below the root of the source.
func (p *page) run(words ...string) string {
	p.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	var stderr strings.Builder
	cmd.Dir, cmd.Stderr = "..", &stderr
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("%v: %v: %s%s", words, err, out, &stderr)
	}
	return string(out)
}

// in returns what a command writes in a node.
func (p *page) in(node string, words ...string) string {
	p.Helper()
	return p.run(append([]string{p.lab, "exec", node}, words...)...)
}

// background starts a command in a process group of its own, which end ends.
func (p *page) background(cmd *exec.Cmd) (end func()) {
	p.Helper()
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	return func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
	}
}

// viewed runs the block of docs/lab.md with sluice view, but for sudo and make.
func viewed(t *testing.T) *page {
	p := &page{T: t, lab: program(t)}
	text, err := os.ReadFile("../docs/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```sh norun\nsudo make lab\nleaves=")
	block, _, found := strings.Cut(block, "sudo make lab-down\n```\n")
	if !found {
		t.Fatal("the page has no block from make lab to make lab-down with sluice view")
	}
	block = strings.NewReplacer("sudo ", "", "build/lab/lab", p.lab, "sluice view", "sluice view --listen 127.0.0.1:0").Replace(block)
	p.run(p.lab, "up")
	t.Cleanup(func() { p.run(p.lab, "down") })
	script := exec.Command("bash", "-e", "-c", "leaves="+block)
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	script.Stdout = w
	t.Cleanup(p.background(script)) // it, the page and the senders
	_ = w.Close()                   // theirs is open
	lines := bufio.NewScanner(out)
	for p.address == "" && lines.Scan() {
		if at, is := strings.CutSuffix(lines.Text(), "/ has the page; Ctrl-C ends it"); is {
			p.address = at
		}
	}
	if p.address == "" {
		t.Fatal("sluice view has ended")
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return p
}

// picture returns the picture of now.
func (p *page) picture() *picture.Picture {
	p.Helper()
	answer, err := http.Get(p.address + "/api/picture")
	if err != nil {
		p.Fatal(err)
	}
	defer answer.Body.Close()
	now := &picture.Picture{}
	if answer.StatusCode == http.StatusNotFound { // before the first reading
		return now
	}
	if err := json.NewDecoder(answer.Body).Decode(now); err != nil {
		p.Fatal(err)
	}
	return now
}

// await waits for a picture.
func (p *page) await(what string, is func(now *picture.Picture) bool) {
	p.Helper()
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(200 * time.Millisecond) {
		now := p.picture()
		if is(now) {
			return
		}
		if time.Now().After(deadline) {
			text, _ := json.Marshal(now)
			p.Fatalf("%s: %.8000s", what, text)
		}
	}
}

// named waits until the four leaves send by both uplinks to spines with names.
func (p *page) named() {
	p.Helper()
	p.await("four leaves with two uplinks each, to spines with names", func(now *picture.Picture) bool {
		ends := map[string]bool{}
		for _, l := range now.Links {
			ends[fmt.Sprint(l.From, l.To)] = true
		}
		for i := range 4 {
			for s := range 2 {
				if !ends[fmt.Sprintf("{leaf%d Ethernet%d} {spine%d Ethernet%d}", i+1, 8+4*s, s+1, 4*i)] {
					return false
				}
			}
		}
		return len(now.Switches) == 4 && len(now.Uplinks) == 8 && len(now.Links) == 8 && len(now.Flows) >= 32
	})
}

// counted compares the rates of the page with the octets that the kernel of the leaves that send counts.
func (p *page) counted() {
	p.Helper()
	type sums struct{ first, last, page float64 } // octets
	all, began, before := map[string]*sums{}, time.Time{}, time.Time{}
	p.await("the rates of the page are those of the kernel", func(now *picture.Picture) bool {
		rates, send := map[string]float64{}, true // octets a second
		for _, u := range now.Uplinks {
			if (u.Switch == "leaf1" || u.Switch == "leaf2") && u.Mbps != nil {
				rates[u.Switch+" "+u.Port] = *u.Mbps * 1e6 / 8
				send = send && *u.Mbps > 5
			}
		}
		switch {
		case began.IsZero() && (len(rates) < 4 || !send):
			return false // they begin to send
		case len(rates) < 4:
			p.Errorf("at %v: rates were there, and are %v; %+v", now.At, rates, now.Switches)
			return false
		}
		read := time.Now()
		for key, r := range rates {
			var links []struct {
				Stats struct{ TX struct{ Bytes float64 } } `json:"stats64"`
			}
			leaf, port, _ := strings.Cut(key, " ")
			if err := json.Unmarshal([]byte(p.in(leaf, "ip", "-j", "-s", "link", "show", port)), &links); err != nil {
				p.Fatal(err)
			}
			if all[key] == nil {
				all[key] = &sums{first: links[0].Stats.TX.Bytes}
			} else {
				all[key].page += r * read.Sub(before).Seconds()
			}
			all[key].last = links[0].Stats.TX.Bytes
		}
		if before = read; began.IsZero() {
			began = read
		}
		near := read.Sub(began) > 20*time.Second
		for _, s := range all {
			near = near && math.Abs(s.page/(s.last-s.first)-1) < 0.05
		}
		return near
	})
	for key, s := range all {
		p.Logf("%s: the kernel counts %.0f octets, the page %.3f times that", key, s.last-s.first, s.page/(s.last-s.first))
	}
}

// shown returns what a command of show has of each leaf.
func shown[T any](p *page, verb string) map[string]T {
	p.Helper()
	var all []struct {
		Switch string
		Answer T
	}
	out := p.run("bin/sluice", "show", verb, "--json", "--target", "@build/lab/run/targets")
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		p.Fatalf("show %s: %v: %s", verb, err, out)
	}
	of := map[string]T{}
	for _, s := range all {
		of[s.Switch] = s.Answer
	}
	return of
}

// has compares what the parts of the page have with what show prints for the leaves.
func (p *page) has(b *browser.Page) {
	p.Helper()
	has := func(section string, want ...string) {
		p.Helper()
		if text := b.Text(section); !slices.ContainsFunc(want, func(w string) bool { return strings.Contains(text, w) }) {
			p.Errorf("%s has no %q: %.3000s", section, want, text)
		}
	}
	known := map[string]bool{}
	for leaf, flows := range shown[[]map[string]any](p, "flows") {
		for _, f := range flows {
			known[fmt.Sprintf("%v → %v 0x%06x", f["src"], f["dst"], int(f["dest_qp"].(float64)))] = true
		}
		has(".of-uplinks", leaf)
	}
	rows := browser.Eval[[]string](b, `[...document.querySelectorAll(".of-flows tbody .flow, .of-health tbody .flow")].map(e => e.innerText.replace(/\s+/g, " "))`)
	if len(rows) < 20 || len(known) < 32 {
		p.Errorf("%d rows of flows, and %d flows", len(rows), len(known))
	}
	for _, r := range rows {
		if !known[r] {
			p.Errorf("the page has the flow %q, and show has %v", r, known)
		}
	}
	queues := map[string]bool{}
	for leaf, all := range shown[[]map[string]any](p, "queues") {
		for _, q := range all {
			queues[fmt.Sprintf("%s %v %v", leaf, q["port"], q["queue"])] = true
		}
	}
	rows = browser.Eval[[]string](b, `[...document.querySelectorAll(".of-queues tbody tr")].map(e => e.innerText.replace(/\s+/g, " "))`)
	if len(rows) < 8 {
		p.Errorf("%d rows of queues", len(rows))
	}
	for _, r := range rows {
		if words := strings.Fields(r); len(words) < 3 || !queues[strings.Join(words[:3], " ")] {
			p.Errorf("the page has the queue %q, and show has %v", r, queues)
		}
	}
	for leaf, c := range shown[map[string]any](p, "capability") {
		has(".of-switches", leaf)
		for _, need := range []string{"flow_label", "placement", "hold", "threshold", "export"} {
			method := fmt.Sprintf("%s %v (", strings.ReplaceAll(need, "_", " "), c[need+"_method"])
			has(".of-switches", fmt.Sprintf("%s%v)", method, c[need+"_reason"]), fmt.Sprintf("%s%v: %v)", method, c[need+"_state"], c[need+"_reason"]))
		}
	}
	has(".of-placement", "No switch places flows.") // as leaf.json says: no SLUICE_PLACEMENT
	for i := range 4 {
		for s := range 2 {
			name := fmt.Sprintf("leaf%d Ethernet%d to spine%d Ethernet%d: ", i+1, 8+4*s, s+1, 4*i)
			if !browser.Eval[bool](b, fmt.Sprintf("[...document.querySelectorAll('.of-map .link')].some(e => e.getAttribute('aria-label').startsWith(%q))", name)) {
				p.Errorf("the map has no link %s", name)
			}
		}
	}
}

// process returns the process of a daemon of a leaf.
func (p *page) process(leaf, daemon string) (found int) {
	p.Helper()
	s, err := read("../" + folder)
	if err != nil {
		p.Fatal(err)
	}
	for _, pid := range strings.Fields(p.run("ip", "netns", "pids", s.Nodes[leaf].Namespace)) {
		if comm, _ := os.ReadFile("/proc/" + pid + "/comm"); strings.TrimSpace(string(comm)) == daemon {
			number, err := strconv.Atoi(pid)
			if err != nil || found != 0 {
				p.Fatalf("%s has more than one process of %s: %v", leaf, daemon, err)
			}
			found = number
		}
	}
	if found == 0 {
		p.Fatalf("%s has no process of %s", leaf, daemon)
	}
	return found
}

// matches returns the id of the switch's table of held flows: the BPF map soft_matches of its sluiced.
func (p *page) matches(leaf string) string {
	p.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", p.process(leaf, "sluiced")))
	if err != nil {
		p.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have been closed
		_, after, is := strings.Cut(string(text), "map_id:")
		if !is {
			continue
		}
		id := strings.Fields(after)[0]
		if strings.Contains(p.run("bpftool", "-j", "map", "show", "id", id), `"soft_matches"`) {
			return id
		}
	}
	p.Fatalf("sluiced of %s has no map soft_matches", leaf)
	return ""
}

// linkLocal returns the link-local address of a port.
func (p *page) linkLocal(node, port string) string {
	p.Helper()
	for line := range strings.Lines(p.in(node, "ip", "-6", "-br", "address", "show", "dev", port)) {
		for _, word := range strings.Fields(line) {
			if a, _, is := strings.Cut(word, "/"); is && strings.HasPrefix(a, "fe80:") {
				return a
			}
		}
	}
	p.Fatalf("%s %s has no link-local address", node, port)
	return ""
}

// holds measures how long the page takes to show a hold, from when the switch holds the flow. The last
// reading of the switch's table without it counts as that time. Who asks has real-time priority: a hold is
// for 65 ms at most, and asked for again before.
func (p *page) holds(b *browser.Page, samples int) (took []time.Duration) {
	p.Helper()
	spine, leaf := p.linkLocal("spine1", "Ethernet0"), p.linkLocal("leaf1", "Ethernet8")
	p.in("leaf1", "bin/sluice", "config", "port", "set", "Ethernet8", "--upstream-neighbor", spine)
	p.in("leaf1", "bin/sluice", "config", "pfcm", "set", "--hold-limit-ms", "60000")
	table := p.matches("leaf1")
	held := func() bool {
		return strings.Contains(p.run("bpftool", "-j", "map", "dump", "id", table), `"key"`)
	}
	for i := range samples {
		for deadline := time.Now().Add(patience); held(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.Fatal("the hold before does not end")
			}
		}
		// Else each hold would come at one phase of the readings, which are a second apart.
		phase := 37 * i % 900
		b.Wait(fmt.Sprintf("performance.now() %% 1000 > %d && performance.now() %% 1000 < %d", phase, phase+100))
		src := fmt.Sprintf("2001:db8:1:1::%x", 0x1000+i)
		end := p.background(exec.Command(p.lab, "exec", "spine1", "chrt", "--fifo", "10", "bin/sluice-lab", "send", "pfcm", "--dev", "Ethernet0", "--src", spine, "--dst", leaf,
			"--source", src, "--destination", "2001:db8:4:8::2", "--stream-label", "0x12345", "--time", "65535", "--count", "1000", "--interval", "20ms"))
		before := time.Now()
		for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			now := time.Now()
			if held() {
				break
			}
			if before = now; time.Now().After(deadline) {
				p.Fatalf("leaf1 does not hold the flow of %s: %s", src, p.in("leaf1", "bin/sluice", "show", "notifications"))
			}
		}
		b.Wait(fmt.Sprintf("document.querySelector('.of-holds').innerText.includes('%s ')", src))
		if took = append(took, time.Since(before)); took[i] > 1500*time.Millisecond {
			p.Logf("%v: %s: %s", took[i], src, b.Text(".at"))
		}
		if i == 0 {
			p.tree(b, spine)
			p.keep(b)
		}
		end()
	}
	return took
}

// tree waits until the tree of the page has what sluice show prints for the hold on leaf1: both have it each time
// that it begins, as after a delay of who asks.
func (p *page) tree(b *browser.Page, spine string) {
	p.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		holds, text := shown[[]map[string]any](p, "holds")["leaf1"], b.Text(".of-holds")
		if len(holds) == 1 {
			h := holds[0]
			lacks := slices.DeleteFunc([]string{
				"leaf1 Ethernet8", "PFCM from spine1 (" + spine + ")", fmt.Sprintf("queue %v", h["queue"]),
				fmt.Sprintf("%v → %v", h["src"], h["dst"]), fmt.Sprintf("stream %v", h["stream_id"]), fmt.Sprint(h["reason"]),
			}, func(want string) bool { return strings.Contains(text, want) })
			if len(lacks) == 0 {
				return
			}
			p.Logf("the tree has no %q: %s", lacks, text)
		}
		if time.Now().After(deadline) {
			p.Fatalf("the tree and show differ: %v; %s", holds, text)
		}
	}
}

// keep takes the screen, which is a picture of docs/view.md.
func (p *page) keep(b *browser.Page) {
	p.Helper()
	file := "../docs/view-lab.webp"
	if *update {
		if err := os.WriteFile(file, b.Screen(), 0o644); err != nil {
			p.Fatal(err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		p.Errorf("%v: SLUICE_SOAK=1 go test ./lab -run Browser -args -update", err)
	}
}

// TestBrowserShowsTheLab runs the block of docs/lab.md with sluice view as a user does. The page in a browser
// has the rates that the kernel of the leaves counts, what sluice show prints for them, and a hold on a
// switch within 1.5 s.
func TestBrowserShowsTheLab(t *testing.T) {
	b := browser.Open(t)
	p := viewed(t)
	p.named()
	b.Look(1280, 1000, 1, false)
	b.Go(p.address + "/")
	b.Wait("document.querySelectorAll('.of-flows tbody tr').length > 10")
	p.counted()
	p.has(b)
	const samples = 100
	took := p.holds(b, samples)
	slices.Sort(took)
	ms := func(part float64) float64 { return float64(took[int(part*(samples-1)+0.5)].Milliseconds()) }
	t.Logf("from the switch to the page: %v to %v, half within %v ms", took[0], took[samples-1], ms(0.50))
	browser.Record(t, "hold_to_page_ms", map[string]float64{"p50": ms(0.50), "p99": ms(0.99)})
	if ms(0.99) > 1500 {
		t.Errorf("one hold in a hundred took %v ms", ms(0.99))
	}
	for _, w := range b.Wrong() {
		t.Error(w)
	}
}

// TestViewSeesDaemonsOfTheLabEnd: a daemon that is killed, one that ends, a server that is killed, and a link
// that goes down.
func TestViewSeesDaemonsOfTheLabEnd(t *testing.T) {
	p := viewed(t)
	p.named()
	end := func(leaf, daemon string, how syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(p.process(leaf, daemon), how); err != nil {
			t.Fatal(err)
		}
	}
	of := func(now *picture.Picture, leaf string) (is picture.Switch, rates int) {
		for _, s := range now.Switches {
			if s.Name == leaf {
				is = s
			}
		}
		for _, u := range now.Uplinks {
			if u.Switch == leaf && u.Mbps != nil {
				rates++
			}
		}
		return is, rates
	}
	end("leaf1", "sluiced", syscall.SIGKILL)
	p.await("leaf1 is stale, without rates", func(now *picture.Picture) bool { s, n := of(now, "leaf1"); return s.Stale && n == 0 })
	end("leaf2", "sluiced", syscall.SIGTERM)
	p.await("sluiced of leaf2 is not running, and has no rates", func(now *picture.Picture) bool { s, n := of(now, "leaf2"); return s.State == "not-running" && n == 0 })
	end("leaf3", "sluice-gnmi", syscall.SIGKILL)
	p.await("leaf3 does not answer", func(now *picture.Picture) bool { s, n := of(now, "leaf3"); return s.Missing != "" && n == 0 })
	p.in("leaf4", "ip", "link", "set", "Ethernet8", "down")
	p.await("an uplink of leaf4 is down", func(now *picture.Picture) bool {
		for _, u := range now.Uplinks {
			if u.Switch == "leaf4" && u.Port == "Ethernet8" {
				return u.Up != nil && !*u.Up
			}
		}
		return false
	})
}
