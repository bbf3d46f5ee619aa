// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/host/clock"
)

// DefaultAddress is on the loopback: another address must be configured.
const DefaultAddress = "127.0.0.1:9475"

// Bounds of a client's resources.
const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 15 * time.Second
	// idleTimeout: a client that waits gives way to a new one, see clients
	idleTimeout = 2 * time.Minute
	maxHeader   = 16 << 10 // octets
	maxScrapes  = 16       // at once; more get 503
)

// Times of the server.
const (
	retryListen = 5 * time.Second
	endTimeout  = 2 * time.Second // for scrapes under way, when it ends
)

// Config of a Server.
type Config struct {
	Address   string // host:port
	Databases *sonicdb.Databases
	// ASIC: asic0…, a label of everything, on a switch of several; empty: none
	ASIC string
	// Flows: so many of the heaviest flows are exported, each with series of its own
	Flows int
	Log   *slog.Logger

	// Hangs returns the reason why the daemon hangs, which its rows cannot show, or "". It
	// may be nil, which is as "".
	Hangs func() string
}

// Server serves /metrics and /healthz.
type Server struct {
	Config
	source  *source
	http    *http.Server
	clients *clients
	warning atomic.Pointer[string]
	retry   time.Duration
	ready   func(net.Addr) // for tests: it listens
}

// New returns a server. Redis may start later.
func New(c Config) (*Server, error) {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return nil, fmt.Errorf("metrics address %q: %w: it must be HOST:PORT, such as %s", c.Address, err, DefaultAddress)
	}
	if c.Flows < 0 {
		return nil, fmt.Errorf("%d flows in the metrics: it must be 0 or more", c.Flows)
	}
	all := tables(c.Flows > 0)
	source, err := newSource(c.Databases, all)
	if err != nil {
		return nil, err
	}
	s := &Server{Config: c, source: source, retry: retryListen, clients: newClients(clientLimit(descriptors()))}
	registry := prometheus.NewRegistry()
	var to prometheus.Registerer = registry
	if c.ASIC != "" {
		to = prometheus.WrapRegistererWith(prometheus.Labels{"asic": c.ASIC}, registry)
	}
	for _, each := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: join(prefix, "metrics_clients_closed_total"), Help: "Connections to this server that were closed because there were too many.",
		}, func() float64 { return float64(s.clients.closed.Load()) }),
		&collector{read: source.read, tables: all, flows: c.Flows, failed: func(err error) {
			c.Log.Warn("metrics: the rows cannot be read", "error", err)
		}},
	} {
		if err := to.Register(each); err != nil {
			source.close()
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	}))
	mux.HandleFunc("GET /healthz", s.health)
	s.http = &http.Server{
		Handler: s.clients.handler(mux), ConnState: s.clients.state, ConnContext: s.clients.context,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		// of clients that end early
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Run serves until ctx is done; then it returns nil. Where the address is taken it warns,
// and tries again.
func (s *Server) Run(ctx context.Context) error {
	defer s.source.close()
	served := make(chan error, 1)
	for {
		listener, err := net.Listen("tcp", s.Address)
		if err != nil {
			s.warn(err)
		} else {
			s.warning.Store(nil)
			s.Log.Info("metrics are served", "address", listener.Addr(), "loopback", loopback(listener.Addr()))
			if s.ready != nil {
				s.ready(listener.Addr())
			}
			go func() { served <- s.http.Serve(listener) }()
			select {
			case err := <-served:
				s.warn(err)
			case <-ctx.Done():
				return s.end(ctx, served)
			}
		}
		if !clock.Sleep(ctx, s.retry) {
			return nil
		}
	}
}

// end lets scrapes under way come to their end, for a while.
func (s *Server) end(ctx context.Context, served <-chan error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // their connections are cut
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		s.Log.Warn("metrics: the server ended by itself", "error", err)
	}
	return nil
}

// warn logs the reason why the server is down, once for each reason.
func (s *Server) warn(err error) {
	text := fmt.Sprintf("metrics are not served at %s: %v", s.Address, reason(err))
	if was := s.warning.Load(); was == nil || *was != text {
		s.Log.Warn(text)
	}
	s.warning.Store(&text)
}

// reason returns the cause of an error of listen: the warning has the address already.
func reason(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// Warnings returns the reason why the server is down, for the operator; nil while it
// serves.
func (s *Server) Warnings() []string {
	if w := s.warning.Load(); w != nil {
		return []string{*w}
	}
	return nil
}

// loopback reports whether an address is reachable from this machine only.
func loopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// health answers with the state of SLUICE_STATE|global: 200 unless it is starting,
// unknown since Redis is away, or the daemon hangs.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	state, code := telemetry.Starting, http.StatusServiceUnavailable
	all, err := s.source.read(context.WithoutCancel(r.Context()))
	if err != nil {
		state = "unknown: Redis does not answer"
	}
	for _, row := range all {
		if row.Table == telemetry.TableState {
			state = row.Fields["state"]
		}
	}
	switch state {
	case telemetry.Running, telemetry.Degraded, telemetry.Disabled:
		code = http.StatusOK
	}
	if s.Hangs != nil {
		if why := s.Hangs(); why != "" {
			state, code = why, http.StatusServiceUnavailable
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintln(w, visible(state))
}
