// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// mostText is the largest text that is read whole, octets: rows of the largest switches have
// some 10 MB.
const mostText = 64 << 20

// textGrace is how long a text is read on after the end of the context: Ctrl-C ends the program
// before a pipe, too, and the rest that it has written is wanted.
const textGrace = time.Second

// sonicFile is set by the plugins of SONiC's commands: the file of the host whose contents are the
// standard input, since the container does not see it.
const sonicFile = "SLUICE_SONIC_FILE"

// readText returns the contents of a file of text, or of stdin for "-" and [sonicFile]. The wait for a writer
// of a FIFO, or for the end of standard input, ends [textGrace] after ctx.
func readText(ctx context.Context, name string, stdin io.Reader) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 2) // both senders may write
	go func() {
		r := stdin
		if name != "-" && name != os.Getenv(sonicFile) {
			f, err := os.Open(name)
			if err != nil {
				done <- result{err: fmt.Errorf("open %q: %w", name, errors.Unwrap(err))}
				return
			}
			defer f.Close()
			r = f
		}
		text, err := io.ReadAll(io.LimitReader(r, mostText+1))
		if err == nil && len(text) > mostText {
			err = fmt.Errorf("%q: it has more than %d octets, the most that is read", name, mostText)
		}
		done <- result{text, err}
	}()
	context.AfterFunc(ctx, func() {
		time.Sleep(textGrace)
		done <- result{err: fmt.Errorf("%s: stopped", name)}
	})
	r := <-done
	return r.text, r.err
}
