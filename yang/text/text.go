// SPDX-License-Identifier: Apache-2.0

// Package text makes text by other programs fit to be shown: values of rows, names, lines
// of a log. It is for text that people read, on a terminal or in a file, only.
package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// Printable returns s as a terminal may have it: characters that a terminal would obey,
// or that would change the order of the letters that are seen, become dots. These are all
// that Unicode leaves out of the printable ones: control characters of both ranges, C0
// and C1, line and paragraph separators, and format characters, among them those of
// bidirectional text.
func Printable(s string) string {
	if plainASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}

// Lines is [Printable] for text of several lines.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// plainASCII reports whether s has only characters of ASCII that a terminal shows: nearly
// all text has, and each packet that is printed asks.
func plainASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// NewEncoder returns an encoder that writes values as [JSON] has them, one a line.
func NewEncoder(w io.Writer) *json.Encoder { return json.NewEncoder(jsonWriter{w}) }

// jsonWriter passes on whole JSON values, as an encoder writes them.
type jsonWriter struct{ io.Writer }

// Write implements [io.Writer]: it escapes the characters of a JSON text that a terminal
// would obey. It returns the length of value, as encoders expect.
func (w jsonWriter) Write(value []byte) (int, error) {
	if _, err := w.Writer.Write(JSON(value)); err != nil {
		return 0, err
	}
	return len(value), nil
}

// JSON returns JSON with the same meaning in which each character that [Printable]
// would replace is an escape sequence. White space between values stays.
func JSON(encoded []byte) []byte {
	if line, _ := bytes.CutSuffix(encoded, []byte("\n")); plainASCII(line) {
		return encoded
	}
	out := make([]byte, 0, len(encoded))
	for len(encoded) > 0 {
		r, n := utf8.DecodeRune(encoded)
		switch {
		case unicode.IsPrint(r) || r == '\n' || r == '\t' || r == '\r':
			out = append(out, encoded[:n]...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800|r>>10, 0xdc00|r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		encoded = encoded[n:]
	}
	return out
}

// cuts counts the texts that Cut has shortened.
var cuts atomic.Uint64

// Cuts is how often [Cut] has made a text shorter since the process began.
func Cuts() uint64 { return cuts.Load() }

// Cut returns s, or where it is longer than most octets, its beginning and how long it
// is.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cuts.Add(1)
	end := most
	for end > 0 && end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:end], len(s))
}
