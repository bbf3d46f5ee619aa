// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"sluice/yang/rows"
)

// Defaults of [Options].
const (
	// Timeout is how long one switch may take to answer.
	Timeout = 1500 * time.Millisecond
	// SetTimeout is how long one switch may take to answer a change: it checks and writes rows, and
	// waits until its streams have them.
	SetTimeout = 10 * time.Second
	// atOnce is how many switches are asked at the same time: a switch that hangs holds one
	// of these places for its timeout.
	atOnce = 128
)

// Options are the settings that the targets of a fleet have in common.
type Options struct {
	Port    uint16        // of targets whose address has none; 0: [Port]
	Timeout time.Duration // of one switch's answer, connection included; 0: [Timeout]
	// SetTimeout is the same for a change; 0: [SetTimeout], or Timeout where that is longer.
	SetTimeout time.Duration
	AtOnce     int // switches asked at the same time; 0: 128
	Login      Login
	// Plain asks all targets in plain text, which loopback alone may have.
	Plain bool
	// Flag names a field of Login in errors, by its key.
	Flag func(key string) string
}

// Fleet has the connections to switches. They are made when they are needed, and stay.
type Fleet struct {
	options Options
	places  chan struct{}
	members []*member
	// limit gives a question its deadline, with a lateError as the cause; tests replace it.
	limit func(context.Context) (context.Context, context.CancelFunc)
	// limitSet gives a change its deadline in the same way.
	limitSet func(context.Context) (context.Context, context.CancelFunc)
	// dial connects to an address of a network; tests replace it.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// member is one switch with its connection.
type member struct {
	Target
	conn     *grpc.ClientConn
	metadata []string
	broken   error // it cannot be asked at all
}

// Reading is the answer of one switch.
type Reading struct {
	Target Target
	// Rows are those of the tables that were asked for; nil where Err is not.
	Rows []rows.Row
	// At is the time of the reading by the clock of the switch; zero: it did not tell.
	At time.Time
	// Skew is how far the switch's clock is ahead of that of this machine, and Uncertain how
	// far this may be wrong: half of the time that the answer took.
	Skew, Uncertain time.Duration
	// Err is why the switch did not answer, in one line.
	Err error
}

// NewFleet returns the fleet of targets, which it does not connect to yet. The error is that of
// the login that all have; one of a single target is in its readings.
func NewFleet(all []Target, o Options) (*Fleet, error) {
	if o.Port == 0 {
		o.Port = Port
	}
	if o.Timeout == 0 {
		o.Timeout = Timeout
	}
	if o.SetTimeout == 0 {
		o.SetTimeout = max(SetTimeout, o.Timeout)
	}
	if o.AtOnce == 0 {
		o.AtOnce = atOnce
	}
	if o.Flag == nil {
		o.Flag = func(key string) string { return key }
	}
	common, err := o.Login.Load(o.Flag)
	if err != nil {
		return nil, err
	}
	f := &Fleet{options: o, places: make(chan struct{}, o.AtOnce), dial: new(net.Dialer).DialContext}
	f.limit, f.limitSet = within(o.Timeout), within(o.SetTimeout)
	for _, t := range all {
		f.members = append(f.members, f.member(t, common))
	}
	return f, nil
}

// within returns what gives a context so much time.
func within(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, d, lateError(d))
	}
}

// member returns a target with its connection, which begins with the first question.
func (f *Fleet) member(t Target, common *Credentials) *member {
	m := &member{Target: t}
	login := common
	if t.Login != (Login{}) {
		if login, m.broken = t.Login.or(f.options.Login).Load(t.key); m.broken != nil {
			return m
		}
	}
	network, address := t.network(f.options.Port)
	plain := network == "unix" || t.Plain || f.options.Plain
	identity := credentials.NewTLS(login.server(t.hosts()))
	if plain {
		identity = insecure.NewCredentials()
	} else {
		m.metadata = login.Metadata
	}
	// a target of gRPC cannot have a zone of IPv6
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		c, err := f.dial(ctx, network, address)
		if err == nil && plain {
			return onLoopback(c)
		}
		return c, err
	}
	m.conn, m.broken = grpc.NewClient("passthrough:///"+address, grpc.WithContextDialer(dial), grpc.WithTransportCredentials(identity),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, MaxDelay: maxDelay}, MinConnectTimeout: f.options.Timeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostMessage)))
	return m
}

// maxDelay is the longest time after a failure in which a switch is not tried again.
const maxDelay = 5 * time.Second

// key names a field of the target's login in an error.
func (t *Target) key(key string) string { return fmt.Sprintf("%s: %s of %s", t.file, key, t.Name) }

// onLoopback returns a connection that may have plain text; it closes one that leaves this machine.
func onLoopback(c net.Conn) (net.Conn, error) {
	if tcp, is := c.RemoteAddr().(*net.TCPAddr); is && !tcp.IP.IsLoopback() {
		_ = c.Close() // nothing was written
		return nil, errors.New("plain text is for loopback alone")
	}
	return c, nil
}

// Targets returns the targets, in their order.
func (f *Fleet) Targets() []Target {
	var all []Target
	for _, m := range f.members {
		all = append(all, m.Target)
	}
	return all
}

// Close closes all connections.
func (f *Fleet) Close() {
	for _, m := range f.members {
		if m.conn != nil {
			_ = m.conn.Close()
		}
	}
}

// Read asks all switches for tables, by the database that they are in, and returns their
// answers in the order of the targets. A name that ends in * is that of all tables which
// begin so.
func (f *Fleet) Read(ctx context.Context, wanted map[string][]string) []Reading {
	q := newQuestion(wanted)
	all := make([]Reading, len(f.members))
	var asked sync.WaitGroup
	for i, m := range f.members {
		f.places <- struct{}{}
		asked.Go(func() {
			defer func() { <-f.places }()
			all[i] = f.ask(ctx, m, q)
		})
	}
	asked.Wait()
	return all
}

// ask asks one switch.
func (f *Fleet) ask(ctx context.Context, m *member, q *question) Reading {
	r := Reading{Target: m.Target, Err: m.broken}
	if r.Err != nil {
		return r
	}
	ctx, cancel := f.limit(metadata.AppendToOutgoingContext(ctx, m.metadata...))
	defer cancel()
	began := time.Now()
	a := &reply{question: q}
	if err := a.read(ctx, gpb.NewGNMIClient(m.conn)); err != nil {
		r.Err = reason(ctx, err)
		return r
	}
	r.Rows = a.rows()
	if a.at != 0 {
		r.At, r.Uncertain = time.Unix(0, a.at), time.Since(began)/2
		r.Skew = r.At.Sub(began.Add(r.Uncertain))
	}
	return r
}

// lateError is that a switch did not answer in time.
type lateError time.Duration

// Error implements [error].
func (e lateError) Error() string {
	return fmt.Sprintf("deadline exceeded after %g s", time.Duration(e).Seconds())
}
