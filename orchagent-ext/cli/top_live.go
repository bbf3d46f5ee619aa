// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sluice/orchagent-ext/cli/terminal"
	"sluice/orchagent-ext/cli/top"
)

// live shows frames on a terminal until q, Ctrl-C, a signal or the last frame. The
// terminal is given back in any case.
func (t *watcher) live(ctx context.Context, in, out *os.File) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	screen, err := terminal.Open(in, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, screen.Close()) }()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	readings, failed := make(chan reading), make(chan any, 1)
	go t.poll(ctx, readings, failed)

	keys := topKeys{order: t.order, many: t.many != nil}
	draw := func(v drawing) error {
		width, height := screen.Size()
		l := top.Layout{
			Width: width, Height: height, Order: t.order, Footer: keys.footer(),
			UTF8: terminal.UTF8(os.Getenv), Color: os.Getenv("NO_COLOR") == "",
		}
		if keys.help {
			return screen.Draw(keys.page(l))
		}
		keys.skip = v.Skip(keys.skip)
		return screen.Draw(v.Frame(l))
	}
	// the time of the view, which does not advance in a pause
	shown := t.now()
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case p := <-failed:
			panic(p)
		case r := <-readings:
			if keys.paused {
				continue
			}
			t.add(r)
			shown = r.at
			n++
		case <-screen.Resized:
		case key, ok := <-screen.Keys:
			if !ok {
				return nil
			}
			quit, changed := keys.press(key)
			if quit {
				return nil
			}
			if !changed {
				continue
			}
			t.order, t.search = keys.order, keys.search
		}
		if err := draw(t.view(shown)); err != nil {
			return fmt.Errorf("draw: %w", err)
		}
		if t.count > 0 && n >= t.count {
			return nil
		}
	}
}

// poll reads the databases once an interval. A panic goes to the goroutine that
// holds the terminal, which restores it first.
func (t *watcher) poll(ctx context.Context, to chan<- reading, failed chan<- any) {
	defer func() {
		if p := recover(); p != nil {
			failed <- p
		}
	}()
	ticker := time.NewTicker(t.interval)
	defer ticker.Stop()
	for {
		r := t.read(ctx)
		select {
		case to <- r:
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
