// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/orchagent-ext/view/frame"
	"sluice/orchagent-ext/view/picture"
	"sluice/yang/text"
)

// Span is the answer of /api/span.
type Span struct {
	First *time.Time `json:"first,omitempty"` // absent: there is no frame yet
	Last  *time.Time `json:"last,omitempty"`
	Live  bool       `json:"live"` // whether it goes on
	// StepMS is the time between the last two frames of what has ended, ms; 0: there are no two.
	StepMS float64 `json:"step_ms,omitempty"`
}

// span answers /api/span.
func (s *Server) span(w http.ResponseWriter, _ *http.Request) {
	_, live := s.Source.(Live)
	out := Span{Live: live}
	if first, last, ok := s.Source.Span(); ok {
		first, last = first.UTC(), last.UTC()
		out.First, out.Last = &first, &last
		if !live {
			out.StepMS = s.step()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = text.NewEncoder(w).Encode(out) // the client is gone
}

// stepOf returns the time between the last two frames of a source, ms; 0: there are no two, or they cannot be
// read, as the request of their picture says.
func stepOf(source frame.Source) float64 {
	_, last, ok := source.Span()
	if !ok {
		return 0
	}
	f, before, err := source.At(context.Background(), last)
	if err != nil || f == nil || before == nil {
		return 0
	}
	return float64(f.At.Sub(before.At)) / float64(time.Millisecond)
}

// errNone is of a time before the first frame.
var errNone = errors.New("there is no state of that time")

// maker makes the pictures of a source, and keeps the last one: it is that of all who wait.
type maker struct {
	source frame.Source

	mu    sync.Mutex
	f     *frame.Frame // of the last picture; nil: there is none yet
	since *frame.Frame // that its rates are since
	of    *picture.Picture
}

// at returns the picture of a time.
func (m *maker) at(ctx context.Context, t time.Time) (*picture.Picture, error) {
	f, before, err := m.source.At(ctx, t)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errNone
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.f == f {
		return m.of, nil
	}
	since := picture.Since(f, before, func() *frame.Frame {
		if m.f != nil && m.f.At.Equal(before.At) {
			return m.since
		}
		_, earlier, _ := m.source.At(ctx, before.At) // it is for rates alone
		return earlier
	})
	m.f, m.since, m.of = f, since, picture.Of(f, since)
	return m.of, nil
}

// wanted returns the parts of a picture that a request asks for.
func (s *Server) wanted(r *http.Request) picture.Wanted {
	q := r.URL.Query()
	return picture.Wanted{Find: q.Get("find"), Flow: q.Get("flow"), Switch: q.Get("switch"), Port: q.Get("port"), Most: s.Entries}
}

// encode returns a picture for a client, one line of JSON.
func encode(p *picture.Picture, w picture.Wanted) ([]byte, error) {
	encoded, err := json.Marshal(p.Shown(w))
	if err != nil {
		return nil, fmt.Errorf("encode a picture: %w", err)
	}
	return text.JSON(encoded), nil
}

// picture answers /api/picture.
func (s *Server) picture(w http.ResponseWriter, r *http.Request) {
	t, m := time.Now(), &s.live
	if at := r.URL.Query().Get("at"); at != "" {
		var err error
		if t, err = time.Parse(time.RFC3339Nano, at); err != nil {
			http.Error(w, "at must be a time as RFC 3339 writes it", http.StatusBadRequest)
			return
		}
		m = &s.past
	} else if _, last, ok := s.Source.Span(); ok {
		t = last
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-r.Context().Done():
		return
	}
	p, err := m.at(r.Context(), t)
	var encoded []byte
	if err == nil {
		encoded, err = encode(p, s.wanted(r))
	}
	switch {
	case errors.Is(err, errNone):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, text.Printable(err.Error()), http.StatusBadGateway)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(encoded) // the client is gone
	}
}

// stream answers /api/stream.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	live, is := s.Source.(Live)
	if !is {
		http.Error(w, "this source does not go on: /api/picture has its times", http.StatusNotFound)
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, fmt.Sprintf("%d clients follow it already", s.Streams), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(event []byte) error {
		if err := control.SetWriteDeadline(time.Now().Add(s.Stall)); err != nil {
			return err
		}
		if _, err := w.Write(event); err != nil {
			return err
		}
		if err := control.Flush(); err != nil {
			return err
		}
		return control.SetWriteDeadline(time.Time{}) // HTTP/2 would end the stream then, though it rests
	}
	if send([]byte(": sluice\n\n")) != nil || r.Method == http.MethodHead {
		return
	}
	for wanted := s.wanted(r); ; {
		changed := live.Changed() // before the picture is made: a frame that comes meanwhile counts
		if !s.still(r) {
			return // a browser asks again, with its password
		}
		event, err := s.event(r.Context(), wanted)
		if err == nil && event != nil {
			err = send(event)
		}
		if err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

// event returns the newest picture as an event; nil: the first is yet to come.
func (s *Server) event(ctx context.Context, w picture.Wanted) ([]byte, error) {
	_, last, ok := s.Source.Span()
	if !ok {
		return nil, nil
	}
	p, err := s.live.at(ctx, last)
	if errors.Is(err, errNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	encoded, err := encode(p, w)
	return fmt.Appendf(nil, "event: picture\ndata: %s\n\n", encoded), err
}
