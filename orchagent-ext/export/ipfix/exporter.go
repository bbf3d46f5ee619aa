// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"sluice/orchagent-ext/host/clock"
)

// Collector is where records go.
type Collector struct {
	Name      string // of logs and statistics; "": Address
	Address   string // host:port
	Transport Transport
	// CAFile: PEM: who may have signed the collector's certificate; TLS and DTLS need it
	CAFile   string
	CertFile string // PEM: this node's certificate, or ""
	KeyFile  string // PEM: its key
	// PathMTU: octets; 0: 1280, which every IPv6 path carries. UDP and DTLS
	PathMTU int
}

// MinPathMTU is the smallest path MTU in octets: each template must fit into a
// message.
const MinPathMTU = 512

// Sizes of messages in octets. The default is IPv6's least MTU (RFC 8200 section 5),
// which fits each path.
const (
	defaultPathMTU = 1280
	maxPathMTU     = 65535
)

// Config of an Exporter. A field of 0 has the default in its comment.
type Config struct {
	Process
	// Collectors all get the same records.
	Collectors []Collector

	// Refresh: templates again over UDP, and statistics; DTLS reconnects: 10 minutes
	Refresh time.Duration
	// RefreshMessages: templates again over UDP and DTLS after so many: 4,096
	RefreshMessages uint32
	// Pace: bit/s of messages over UDP and DTLS, to each collector; 0: as fast as records come
	Pace uint64
	// Queue: records that wait, for each collector, and health records: 65,536
	Queue int
	// Linger: a message that is not full waits so long: 50 ms
	Linger time.Duration
	Drain  time.Duration // for waiting packets when Run's context ends: 3 s
	// Stall: a collector that reads nothing for so long is left: 1 minute
	Stall time.Duration
	// Backoff: the first wait before connecting again; doubled to 30 s: 200 ms
	Backoff time.Duration
	// GiveUp: Run fails when a collector is not there for so long: never
	GiveUp time.Duration
	Log    *slog.Logger // or nil

	// Read reads a file that a collector names, at each connection; leaf is the
	// field that names it: ca_file, cert_file, key_file. nil: os.ReadFile, where
	// the user of this process chose the paths.
	Read func(leaf, path string) ([]byte, error)
}

// maxBackoff is the longest time between attempts to connect to a collector.
const maxBackoff = 30 * time.Second

// Exporter sends records to collectors. [New] makes one; it is idle until [Exporter.Run].
// Each collector has a goroutine, a queue and a connection of its own.
type Exporter struct {
	config     Config
	collectors []*collector
}

// New returns an exporter. Errors name the collector's setting that is wrong, and
// the values that are allowed. Certificates are read at each connection: a file
// that is missing keeps one collector disconnected, with the reason in its state.
func New(c Config) (*Exporter, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	if len(c.Collectors) == 0 {
		return nil, errors.New("no collector")
	}
	e := &Exporter{config: c}
	for _, to := range c.Collectors {
		if err := to.complete(); err != nil {
			return nil, fmt.Errorf("collector %s: %w", to.Name, err)
		}
		e.collectors = append(e.collectors, newCollector(to, &e.config))
	}
	if w := c.Registry.Warning(); w != "" {
		c.Log.Warn("IPFIX: " + w)
	}
	return e, nil
}

// complete fills in defaults, and returns an error where the process is wrong.
func (c *Config) complete() error {
	if err := c.Process.complete(); err != nil {
		return err
	}
	for _, d := range []struct{ value, otherwise *time.Duration }{
		{&c.Refresh, ptr(10 * time.Minute)}, {&c.Linger, ptr(50 * time.Millisecond)}, {&c.Drain, ptr(3 * time.Second)},
		{&c.Stall, ptr(time.Minute)}, {&c.Backoff, ptr(200 * time.Millisecond)},
	} {
		if *d.value == 0 {
			*d.value = *d.otherwise
		}
	}
	if c.RefreshMessages == 0 {
		c.RefreshMessages = 4096
	}
	if c.Queue == 0 {
		c.Queue = 65536
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Read == nil {
		c.Read = func(_, path string) ([]byte, error) { return os.ReadFile(path) }
	}
	return nil
}

// ptr returns a pointer to a copy of v.
func ptr[T any](v T) *T { return &v }

// complete fills in the defaults of a collector and checks its values.
func (c *Collector) complete() error {
	if c.Name == "" {
		c.Name = c.Address
	}
	if c.PathMTU == 0 {
		c.PathMTU = defaultPathMTU
	}
	host, port, err := net.SplitHostPort(c.Address)
	if n, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || host == "" || n == 0 {
		return fmt.Errorf("address %q is not HOST:PORT with a port of 1 to 65535", c.Address)
	}
	if c.PathMTU < MinPathMTU || c.PathMTU > maxPathMTU {
		return fmt.Errorf("path MTU %d: %d to %d octets are allowed", c.PathMTU, MinPathMTU, maxPathMTU)
	}
	if c.Transport >= numTransports {
		return fmt.Errorf("transport %d: udp, tcp, tls, dtls are allowed", c.Transport)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return errors.New("certificate and key go together: only one of them is given")
	}
	if !c.Transport.encrypted() {
		if c.CAFile != "" || c.CertFile != "" {
			return fmt.Errorf("certificates are for tls and dtls: the transport is %s", c.Transport)
		}
		return nil
	}
	if c.CAFile == "" {
		return fmt.Errorf("transport %s needs a CA file: without it anybody could be the collector", c.Transport)
	}
	return nil
}

// Export adds records to every collector's queue. It returns at once: records
// that find a queue full are dropped there and counted. Any goroutine may call
// it.
func (e *Exporter) Export(records []Record) {
	for _, c := range e.collectors {
		c.queue.offer(records)
	}
}

// ExportHealth is Export of health records, which have queues of their own. They are
// dropped, and counted, where [Process].Health is false.
func (e *Exporter) ExportHealth(records []Health) {
	for _, c := range e.collectors {
		c.health.offer(records)
	}
}

// ExportAll is Export that waits for room in every queue. One goroutine may call
// it.
func (e *Exporter) ExportAll(ctx context.Context, records []Record) error {
	for _, c := range e.collectors {
		if err := c.queue.wait(ctx, records); err != nil {
			return err
		}
	}
	return nil
}

// ExportAllHealth is ExportHealth that waits for room in every queue. One goroutine may call
// it.
func (e *Exporter) ExportAllHealth(ctx context.Context, records []Health) error {
	for _, c := range e.collectors {
		if err := c.health.wait(ctx, records); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the input of records. Run returns when all that wait are sent. Records that
// are exported afterwards are dropped and counted. Any goroutine may call it, and again.
func (e *Exporter) Close() {
	for _, c := range e.collectors {
		c.queue.close()
		c.health.close()
	}
}

// Run sends until Close, and connects again whenever a connection is lost. When
// ctx ends it continues for at most Config.Drain, so that the last records of the
// flow table are sent: call Close as soon as they were exported. Records that are
// left then are counted as dropped. It returns an error only by Config.GiveUp.
func (e *Exporter) Run(ctx context.Context) error {
	ctx, cancel := extend(ctx, e.config.Drain)
	defer cancel()
	errs := make([]error, len(e.collectors))
	var all sync.WaitGroup
	for i, c := range e.collectors {
		all.Go(func() {
			if errs[i] = c.run(ctx); errs[i] != nil {
				errs[i] = fmt.Errorf("collector %s (%s): %w", c.to.Name, c.to.Transport, errs[i])
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// extend returns a context that ends some time after ctx.
func extend(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		clock.Sleep(longer, by)
		cancel()
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// Stats has the counters of one collector.
type Stats struct {
	// Name is that of the collector's row, or its address.
	Name string
	// Transport is the one in use.
	Transport Transport
	// Connected is true while the collector can be sent to.
	Connected bool
	Error     string // why it is not connected, or was last not

	Messages, Records, Octets uint64 // sent; Records of flows and packets
	Health                    uint64 // health records sent
	Waiting                   int    // records of both kinds in the queues
	Dropped                   uint64 // records that were not sent, for ever
	Connects                  uint64 // sessions begun
	Refused                   uint64 // UDP: ICMP port unreachable
}

// Stats returns the counts so far, of each collector. Any goroutine may call it. Counters
// are totals since New, in the order of Config.Collectors.
func (e *Exporter) Stats() []Stats {
	all := make([]Stats, len(e.collectors))
	for i, c := range e.collectors {
		all[i] = c.status()
	}
	return all
}
