// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/host/garbage"
	"sluice/orchagent-ext/host/login"
	"sluice/orchagent-ext/view/frame"
	"sluice/orchagent-ext/view/framefile"
	"sluice/orchagent-ext/view/keep"
	"sluice/orchagent-ext/view/past"
	"sluice/orchagent-ext/view/server"
	"sluice/yang/text"
)

// viewer is one run of `sluice view`.
type viewer struct {
	listen           string
	from, prometheus string
	cert, key, users string
	every            time.Duration
	databases        *databaseFlags
	targets          *targetFlags
}

// newViewCommand returns `sluice view`.
func newViewCommand() *cobra.Command {
	v := &viewer{}
	cmd := &cobra.Command{
		Use:   "view",
		Short: "Show a fabric as a web page: uplinks, queues, holds, flows, live and in the past",
		Long: `Show a fabric as a web page: how even the uplinks of each leaf are, the map of the fabric, queues and the
flows in them, who asked whom to hold a flow, Rate Advice, placement and its moves, and health by queue pair.
It shows this machine's Sluice, the switches of --target, what sluice record wrote into a file, or what a Prometheus
has of them. It only reads, and keeps the last hour in at most 216 MiB of memory.

The page is in this program, and asks no other server. It is served on loopback; elsewhere only with
--cert, --key and --users, to those who have a password. From another machine without these:
ssh -L 8650:localhost:8650 HOST. It shows addresses, queue pairs and rates of your hosts.

Ctrl-C ends it.`,
		Example: `  sluice view
  sluice view --target all
  sluice view --from fabric.record
  sluice view --prometheus http://127.0.0.1:9090
  sluice view --target @hosts.ini:leaf --listen :8650 --cert view.pem --key view.key --users users`,
		Args: kit.Exactly(),
	}
	flags := cmd.Flags()
	v.databases = addDatabases(flags)
	v.targets = addTargets(flags)
	completeTargets(cmd)
	flags.StringVar(&v.listen, "listen", "127.0.0.1:8650", "`address` of the page; port 0: a free one")
	flags.DurationVar(&v.every, "every", time.Second, "time between readings of the switches")
	flags.StringVar(&v.from, "from", "", "show the `file` that sluice record wrote")
	flags.StringVar(&v.prometheus, "prometheus", "", "show the past that the Prometheus at this `URL` has scraped of sluiced")
	flags.StringVar(&v.cert, "cert", "", "PEM `file` of the certificate of the page")
	flags.StringVar(&v.key, "key", "", "PEM `file` of its key")
	flags.StringVar(&v.users, "users", "", fmt.Sprintf("`file` of NAME:HASH with hashes of bcrypt, as htpasswd -B -C %d makes it, and sluice-gnmi takes it", login.MinCost))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := v.check(cmd); err != nil {
			return err
		}
		if err := v.run(cmd); err != nil {
			return err
		}
		return kit.ErrInterrupted
	}
	return cmd
}

// check judges the flags as a whole.
func (v *viewer) check(cmd *cobra.Command) error {
	flags := cmd.Flags()
	switch {
	case v.every < shortestInterval || v.every > longestInterval:
		return fmt.Errorf("--every %v: from %v to %v are possible", v.every, shortestInterval, longestInterval)
	case v.from != "" && v.prometheus != "":
		return errors.New("either --from or --prometheus, not both")
	case (v.from != "" || v.prometheus != "") && (v.targets.used(flags) || flagIn(flags, "every") || flagIn(flags, "db-config") || flagIn(flags, "namespace")):
		return errors.New("--from and --prometheus show the past alone: leave out --target, --every and the databases")
	case (v.cert == "") != (v.key == ""):
		return errors.New("--cert and --key go together")
	case v.users != "" && v.cert == "":
		return errors.New("--users needs --cert and --key: passwords go over TLS alone")
	}
	return v.targets.check(flags)
}

// open begins to listen.
func (v *viewer) open(ctx context.Context) (l net.Listener, loopback bool, err error) {
	a, err := net.ResolveTCPAddr("tcp", v.listen)
	if err != nil {
		return nil, false, fmt.Errorf("--listen: %w", err)
	}
	loopback = a.IP.IsLoopback()
	if !loopback && (v.cert == "" || v.users == "") {
		return nil, false, fmt.Errorf("--listen %s: beyond loopback the page needs --cert, --key and --users", text.Printable(v.listen))
	}
	var c net.ListenConfig
	if l, err = c.Listen(ctx, "tcp", a.String()); err != nil {
		return nil, false, fmt.Errorf("--listen: %w", err)
	}
	return l, loopback, nil
}

// pageAt is the address of the page as a browser takes it: where it is on all addresses, by the name
// of this machine.
func pageAt(l net.Listener, secure bool) string {
	u := url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}
	if secure {
		u.Scheme = "https"
	}
	if a, is := l.Addr().(*net.TCPAddr); is && a.IP.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			u.Host = net.JoinHostPort(name, strconv.Itoa(a.Port))
		}
	}
	return u.String()
}

// secure returns the TLS of the page, which follows its files, and its users; nil: there are none.
func (v *viewer) secure(log *slog.Logger) (*tls.Config, *login.Users, error) {
	if v.cert == "" {
		return nil, nil, nil
	}
	f, err := login.Open(log, func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(v.cert, v.key)
		if err != nil {
			return nil, fmt.Errorf("--cert %s, --key %s: %w", v.cert, v.key, err)
		}
		return &c, nil
	}, v.cert, v.key)
	if err != nil {
		return nil, nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.Get(), nil }}
	if v.users == "" {
		return c, nil, nil
	}
	users, err := login.OpenUsers(v.users, log)
	return c, users, err
}

// run serves the page until the context of the command ends.
func (v *viewer) run(cmd *cobra.Command) error {
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	secure, users, err := v.secure(log)
	if err != nil {
		return err
	}
	l, loopback, err := v.open(cmd.Context())
	if err != nil {
		return err
	}
	defer l.Close()
	group, ctx := errgroup.WithContext(cmd.Context())
	garbage.Limit(ctx)
	c := server.Config{Users: users, Loopback: loopback}
	switch {
	case v.prometheus != "":
		if c.Source, err = past.New(v.prometheus, past.Options{}); err != nil {
			return fmt.Errorf("--prometheus: %w", err)
		}
	case v.from != "":
		f, err := framefile.Open(v.from)
		if err != nil {
			return err
		}
		defer f.Close()
		if note := f.Note(); note != "" {
			cmd.PrintErrf("note: %s: %s\n", text.Printable(v.from), text.Printable(note))
		}
		c.Source = f
	default:
		r, err := newFrameReader(cmd, v.databases, v.targets)
		if err != nil {
			return err
		}
		defer r.close()
		limit := debug.SetMemoryLimit(-1) // GOMEMLIMIT
		defer debug.SetMemoryLimit(limit)
		h := keep.New(keep.Options{Heap: func(octets int64) { debug.SetMemoryLimit(min(octets, limit)) }})
		defer h.Close()
		c.Source = h
		group.Go(func() error { return follow(ctx, v.every, r.read, h.Add) })
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has the page; Ctrl-C ends it\n", pageAt(l, secure != nil)); err != nil {
		return err
	}
	group.Go(func() error { return server.New(c).Serve(ctx, l, secure) })
	return group.Wait()
}

// follow reads a frame at once and then one each interval, until the context ends. A reading that
// takes longer than the interval delays the next one.
func follow(ctx context.Context, every time.Duration, read func(context.Context) *frame.Frame, add func(*frame.Frame) error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		f := read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := add(f); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
