// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// printed is what a command has printed so far.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *printed) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(b)
}

func (h *printed) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestPacketsAreShownAsTheyCome: packets that come by a pipe are shown while it is open,
// though they are few; Ctrl-C then ends the command with its summary.
func TestPacketsAreShownAsTheyCome(t *testing.T) {
	capture, err := os.ReadFile(captures + "rc-send-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	capture = capture[:len(capture)*1/4] // less than a buffer holds
	for _, args := range [][]string{{"decode", "-"}, {"decode", "--json", "-"}, {"observe", "--json", "--src", "192.168.70.0/24", "-"}} {
		want := 130
		if args[0] == "observe" { // which has no end but this
			want = 0
		}
		in, feed := io.Pipe()
		ctx, interrupt := context.WithCancel(t.Context())
		var out, errs printed
		code := make(chan int)
		go func() { code <- run(ctx, args, in, &out, &errs) }()
		if _, err := feed.Write(capture); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); strings.Count(out.String(), "\n") < 10; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%v: nothing is shown: %q", args, out.String())
			}
		}
		interrupt()
		if got := <-code; got != want || !strings.Contains(errs.String(), " RoCEv2, ") || strings.Contains(errs.String(), "sluice:") {
			t.Errorf("%v: exit code %d: %s", args, got, errs.String())
		}
		_ = feed.Close()
	}
	in, feed := io.Pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, errs printed
	code := make(chan int)
	go func() { code <- run(ctx, []string{"decode", "--flows", "-"}, in, &out, &errs) }()
	if _, err := feed.Write(capture); err != nil {
		t.Fatal(err)
	}
	interrupt()
	if got := <-code; got != 130 || !strings.Contains(errs.String(), " RoCEv2, ") || !strings.Contains(out.String(), "DST-QP") {
		t.Errorf("--flows: exit code %d: %s", got, errs.String())
	}
	_ = feed.Close()
}
