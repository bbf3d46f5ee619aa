// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Sequences that every terminal of today knows (ECMA-48, and xterm's alternate
// screen).
const (
	enter     = "\x1b[?1049h\x1b[?25l" // alternate screen, no cursor
	leave     = "\x1b[?25h\x1b[?1049l"
	home      = "\x1b[H"
	clearLine = "\x1b[K"
	clearRest = "\x1b[J"
)

// Clear empties a terminal in its ordinary state.
const Clear = home + clearRest

// Size of a terminal that does not report its own, in characters.
const (
	defaultWidth  = 80
	defaultHeight = 24
)

// Screen is a terminal that is taken over.
type Screen struct {
	Keys    <-chan byte      // what is typed; closed when nothing more can be
	Resized <-chan os.Signal // the size changed

	in, out *os.File
	was     *term.State
	resized chan os.Signal
}

// Is reports whether a reader or writer is a terminal that can show a Screen.
func Is(stream any) (*os.File, bool) {
	f, ok := stream.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// Open takes a terminal over: its alternate screen, and keys as they are typed,
// Ctrl-C among them. Close the screen in the end, after a panic, too.
func Open(in, out *os.File) (*Screen, error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("take the terminal over: %w", err)
	}
	keys := make(chan byte)
	s := &Screen{Keys: keys, in: in, out: out, was: was, resized: make(chan os.Signal, 1)}
	s.Resized = s.resized
	signal.Notify(s.resized, unix.SIGWINCH)
	if _, err := io.WriteString(out, enter); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	go read(in, keys)
	return s, nil
}

// read lives until the terminal is gone, or as long as the process: a read of a
// terminal cannot be called off.
func read(in io.Reader, keys chan<- byte) {
	defer close(keys)
	var b [1]byte
	for {
		if _, err := in.Read(b[:]); err != nil {
			return
		}
		keys <- b[0]
	}
}

// Size returns columns and lines.
func (s *Screen) Size() (width, height int) { return Size(s.out) }

// Size returns the width and height of a terminal in characters; 80 and 24 for one that
// does not report its own.
func Size(out *os.File) (width, height int) {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil || width < 1 || height < 1 {
		return defaultWidth, defaultHeight
	}
	return width, height
}

// Draw shows a frame in place of the one before, in one write. Its lines must
// fit the size.
func (s *Screen) Draw(frame string) error {
	lines := strings.TrimSuffix(frame, "\n")
	text := home + strings.ReplaceAll(lines, "\n", clearLine+"\r\n") + clearLine + clearRest
	_, err := io.WriteString(s.out, text)
	return err
}

// Close gives the terminal back as it was.
func (s *Screen) Close() error {
	signal.Stop(s.resized)
	_, err := io.WriteString(s.out, leave)
	return errors.Join(err, term.Restore(int(s.in.Fd()), s.was))
}

// UTF8 reports whether the locale in the environment (LC_ALL, LC_CTYPE, LANG) is of
// UTF-8.
func UTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
