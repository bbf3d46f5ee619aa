// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"sluice/orchagent-ext/host/login"
	"sluice/orchagent-ext/view/frame"
	"sluice/orchagent-ext/view/page"
)

// Live is a source that goes on.
type Live interface {
	frame.Source
	// Changed returns a channel that the next frame closes.
	Changed() <-chan struct{}
}

// Config has the settings of a server.
type Config struct {
	Source frame.Source // [Live] or of the past
	// Users are those who may see it, by password; nil: everybody who reaches it.
	Users *login.Users
	// Loopback: only requests to names of loopback are answered.
	Loopback bool
	Streams  int           // at once; 0: 32
	Stall    time.Duration // for which a client of a stream may take nothing; 0: 10 s
	Entries  int           // of each long list of a picture; 0: 500
}

// Limits of connections and requests.
const (
	connections   = 256
	mostHeader    = 16 << 10
	headerTime    = 5 * time.Second
	answerTime    = 30 * time.Second
	idleTime      = time.Minute
	endTime       = 2 * time.Second // for open answers, when the server ends
	askedAtOnce   = 4               // pictures that are asked for at once, beside streams
	defaultOpen   = 32
	defaultStall  = 10 * time.Second
	defaultLength = 500
)

// Server serves one source; [New] makes it.
type Server struct {
	Config
	mux     *http.ServeMux
	streams chan struct{} // places
	asking  chan struct{} // places

	live, past maker          // the past apart: who looks there delays no stream
	step       func() float64 // of what has ended
}

// New returns the server of a source.
func New(c Config) *Server {
	if c.Streams == 0 {
		c.Streams = defaultOpen
	}
	if c.Stall == 0 {
		c.Stall = defaultStall
	}
	if c.Entries == 0 {
		c.Entries = defaultLength
	}
	s := &Server{Config: c, mux: http.NewServeMux(), streams: make(chan struct{}, c.Streams), asking: make(chan struct{}, askedAtOnce)}
	s.live.source, s.past.source = c.Source, c.Source
	s.step = sync.OnceValue(func() float64 { return stepOf(c.Source) })
	s.mux.Handle("/", http.FileServerFS(page.Files()))
	s.mux.HandleFunc("/api/span", s.span)
	s.mux.HandleFunc("/api/picture", s.picture)
	s.mux.HandleFunc("/api/stream", s.stream)
	return s
}

// headers are those of each answer. The page runs its own script alone, sends to its own server
// alone, and refuses to be in a frame.
var headers = map[string]string{
	"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cache-Control":                "no-store",
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	if r.ContentLength != 0 { // it is not read, and may come slowly
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(headerTime)) // a connection without one ends
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "it only reads: GET and HEAD", http.StatusMethodNotAllowed)
	case s.Loopback && !ofLoopback(r.Host):
		http.Error(w, "this page is for requests to localhost", http.StatusForbidden)
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.URL.Path != "/":
		http.Error(w, "this is for its own page", http.StatusForbidden)
	case s.admit(w, r):
		s.mux.ServeHTTP(w, r)
	}
}

// Serve serves the connections of a listener until the context ends. With a configuration of TLS it
// speaks TLS.
func (s *Server) Serve(ctx context.Context, l net.Listener, secure *tls.Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &http.Server{
		Handler: s, TLSConfig: secure, MaxHeaderBytes: mostHeader, ReadHeaderTimeout: headerTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		late, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer stop()
		err := h.Shutdown(late)
		if errors.Is(err, context.DeadlineExceeded) {
			err = h.Close()
		}
		ended <- err
	}()
	var err error
	if l = netutil.LimitListener(l, connections); secure != nil {
		err = h.ServeTLS(l, "", "")
	} else {
		err = h.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return <-ended
	}
	return err
}
