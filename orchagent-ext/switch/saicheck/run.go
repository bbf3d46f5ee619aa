// SPDX-License-Identifier: Apache-2.0

package saicheck

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Config has the library and the bounds of a check.
type Config struct {
	Sluiced string   // program
	Args    []string // of it, besides --sai-check
	Library string   // path
	Order   Order    // port and lanes
	Limit   time.Duration
	Log     io.Writer // logs of library and sluiced
}

// query is the name of the calls that ask for a library's abilities, as sai.Query: this
// package is without cgo.
const query = "ask"

// Run checks a library. An error means that the check ended early; the report has the
// results until then.
func Run(ctx context.Context, c Config) (*Report, error) {
	r := &Report{Library: c.Library, Methods: map[string]map[string]*Result{}}
	order := c.Order
	for {
		p := &process{Config: c, report: r, left: map[string]Row{}}
		for _, row := range order.Left {
			p.left[row.ID] = row
		}
		err := p.run(ctx, order)
		switch {
		case err == nil:
			return r, nil
		case ctx.Err() != nil:
			r.Left, r.Error = p.rest(), ctx.Err().Error()
			return r, ctx.Err()
		case !p.opened && !order.NoExtension && p.open != nil && p.open.Object == "switch extension":
			r.Extension, order.NoExtension = err.Error(), true
			continue
		case !p.opened && order.Avoid == nil && p.open != nil && p.open.Call == query:
			r.Queries, order.Avoid = err.Error(), []string{query}
			continue
		case p.trying == nil && order.Left != nil:
			r.Left, r.Error = order.Left, "objects are left on the switch: "+err.Error()
			return r, errors.New(r.Error)
		case p.trying == nil:
			r.Error = err.Error()
			return r, err
		}
		r.put(*p.trying, &Result{Reason: err.Error(), Calls: p.calls})
		order.Done = append(order.Done, *p.trying)
		order.Left = p.rest()
	}
}

// put records the result of a method.
func (r *Report) put(m Method, is *Result) {
	if is.Calls == nil {
		is.Calls = []Call{}
	}
	if r.Methods[m.Need] == nil {
		r.Methods[m.Need] = map[string]*Result{}
	}
	r.Methods[m.Need][m.Method] = is
}

// process is a sluiced that checks.
type process struct {
	Config
	report  *Report
	left    map[string]Row // of the ledger, by id
	trying  *Method        // nil: it opens the library, or removes what is left
	calls   []Call         // of that
	open    *Call          // the one that has not returned, or nil
	opened  bool
	refused string // why it ended by itself
	said    tail
}

// run starts the process and reads its events. An error is the reason of an early end.
func (p *process) run(ctx context.Context, order Order) error {
	input, err := json.Marshal(order)
	if err != nil {
		return err
	}
	living, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	cmd := exec.CommandContext(living, p.Sluiced, append([]string{"--sai-check", "--sai-library", p.Library}, p.Args...)...)
	cmd.Env = append(cmd.Environ(), "GOTRACEBACK=none")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), io.MultiWriter(&p.said, p.Log)
	cmd.WaitDelay = time.Second // a library's own processes may hold the pipes
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start sluiced: %w", err)
	}
	// it ends after the method that it tries
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(unix.SIGTERM) })
	defer stop()
	events := make(chan Event)
	go func() {
		defer close(events)
		for lines := json.NewDecoder(bufio.NewReader(out)); ; {
			var e Event
			if lines.Decode(&e) != nil {
				return
			}
			select {
			case events <- e:
			case <-living.Done():
				return
			}
		}
	}()
	limit := time.NewTimer(p.patience())
	defer limit.Stop()
	for hung := false; ; {
		select {
		case e, more := <-events:
			if more {
				p.take(&e)
				limit.Reset(p.patience())
				continue
			}
		case <-limit.C:
			hung = true
			kill()
		}
		return p.why(cmd.Wait(), hung)
	}
}

// between is how long sluiced may take between two calls.
const between = time.Minute

// patience is how long the next event may take.
func (p *process) patience() time.Duration {
	if p.open != nil {
		return p.Limit
	}
	return max(p.Limit, between)
}

// take processes an event of the process.
func (p *process) take(e *Event) {
	switch {
	case e.Opened != nil:
		p.opened = true
		p.report.Version, p.report.Port, p.report.order = e.Opened.Version, e.Opened.Port, e.Opened.Methods
		p.endOpening()
	case e.Begins != nil:
		p.endOpening()
		p.trying = e.Begins
	case e.Calling != nil:
		p.open = e.Calling
	case e.Called != nil:
		p.open, p.calls = nil, append(p.calls, *e.Called)
	case e.Ends != nil && p.trying != nil:
		e.Ends.Calls = p.calls
		p.report.put(*p.trying, e.Ends)
		p.trying, p.calls = nil, nil
	case e.Error != "":
		p.refused = e.Error
	}
	for _, row := range e.Saved {
		if row.Fields == nil {
			delete(p.left, row.ID)
		} else {
			p.left[row.ID] = row
		}
	}
}

// endOpening puts the first calls in the report, once.
func (p *process) endOpening() {
	if p.report.Opening == nil {
		p.report.Opening = p.calls
	}
	p.calls = nil
}

// why returns the reason for which the process ended; nil for a normal end.
func (p *process) why(ended error, hung bool) error {
	if p.open != nil {
		p.calls = append(p.calls, *p.open)
	}
	if !p.opened {
		p.endOpening()
	}
	call := "between two calls"
	if p.open != nil {
		call = "in " + p.open.String()
	}
	switch {
	case hung:
		return fmt.Errorf("no answer for %v %s", p.Limit, call)
	case p.refused != "":
		return errors.New(p.refused)
	case ended == nil:
		return nil
	case p.open == nil && !p.opened && len(p.calls) == 0:
		return fmt.Errorf("sluiced: %w%s", ended, p.said.last())
	}
	return fmt.Errorf("the library ended the process %s: %w%s", call, ended, p.said.last())
}

// rest are the objects that are left.
func (p *process) rest() []Row {
	rows := make([]Row, 0, len(p.left))
	for _, row := range p.left {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.ID, b.ID) })
	return rows
}

// tail keeps the end of the output, up to Go's list of goroutines.
type tail struct {
	text  []byte
	ended bool
}

// tailRoom is how much output tail keeps, in octets.
const tailRoom = 4096

// Write implements [io.Writer]. It ignores output after Go's dump of registers.
func (t *tail) Write(b []byte) (int, error) {
	if t.ended {
		return len(b), nil
	}
	t.text = append(t.text, b...)
	if i := bytes.Index(t.text, []byte("\nPC=")); i >= 0 {
		t.text, t.ended = t.text[:i], true
	}
	t.text = t.text[max(0, len(t.text)-tailRoom):]
	return len(b), nil
}

// last returns the last lines of the output.
func (t *tail) last() string {
	said := strings.FieldsFunc(string(t.text), func(r rune) bool { return r == '\n' })
	if len(said) == 0 {
		return ""
	}
	return ": " + strings.Join(said[max(0, len(said)-3):], "; ")
}
