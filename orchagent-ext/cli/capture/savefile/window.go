// SPDX-License-Identifier: Apache-2.0

package savefile

import (
	"errors"
	"io"
)

// windowLen is how much is read at once, octets: the longest packet that is read, and more.
const windowLen = 1 << 19

// window is the part of a file that was read and not taken yet.
type window struct {
	r       io.Reader
	buf     []byte
	at, end int   // of the octets in memory
	before  int64 // octets that left the buffer
	err     error // that ended the reading
}

// have returns the next octets as far as they are in memory.
func (w *window) have() []byte { return w.buf[w.at:w.end] }

// need returns the next n octets or more; they stay valid until more is read. It fails with
// io.EOF where there are none, and with io.ErrUnexpectedEOF, with those that are there,
// where they are fewer.
func (w *window) need(n int) ([]byte, error) {
	for w.end-w.at < n {
		if w.err != nil {
			if errors.Is(w.err, io.EOF) && w.end > w.at {
				return w.have(), io.ErrUnexpectedEOF
			}
			return w.have(), w.err
		}
		w.fill(n)
	}
	return w.have(), nil
}

// fill reads once, after it has made room for n octets. The buffer grows as octets come, so
// that a length that a file claims takes no memory.
func (w *window) fill(n int) {
	if w.at > 0 && (w.at == w.end || w.at+n > len(w.buf)) {
		w.before += int64(w.at)
		w.end = copy(w.buf, w.buf[w.at:w.end])
		w.at = 0
	}
	if w.end == len(w.buf) {
		w.buf = append(w.buf, make([]byte, len(w.buf))...)
	}
	got, err := w.r.Read(w.buf[w.end:])
	w.end += got
	w.err = err
}

// take goes on after the next n octets, which are there.
func (w *window) take(n int) { w.at += n }

// offset is the place in the file, octets.
func (w *window) offset() int64 { return w.before + int64(w.at) }
