// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"

	"sluice/orchagent-ext/host/etcd"
	"sluice/tests/etcdtest"
)

// lines is a log that tests read.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// refused starts a node, and checks that it gets no lease, says why (a regular
// expression), and keeps the secret.
func refused(t *testing.T, urls []string, reason, secret string, bend func(*Config)) {
	t.Helper()
	reasons := regexp.MustCompile(reason)
	var log lines
	c := Config{Config: etcd.Config{Endpoints: urls}, Node: "n", Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if bend != nil {
		bend(&c)
	}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	etcdtest.Eventually(t, patience, reason, func() error {
		if !reasons.MatchString(log.String()) {
			return errors.New(log.String())
		}
		return nil
	})
	if _, err := g.Allocate(ctx, testKey(1)); !errors.Is(err, ErrLost) {
		t.Errorf("allocated: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if secret != "" && strings.Contains(log.String(), secret) {
		t.Errorf("the log tells a secret:\n%s", log.String())
	}
	if g.Stats().Leases != 0 {
		t.Error("it had a lease")
	}
}

// cutOff is how a member refuses a certificate: by an alert, which is lost when it
// closes the connection before all is read that was sent.
const cutOff = "remote error: tls: |broken pipe|connection reset"

func TestTLS(t *testing.T) {
	t.Parallel()
	domain, other := etcdtest.NewAuthority(t, "domain"), etcdtest.NewAuthority(t, "other")
	server, serverKey := domain.Issue("server")
	mine, mineKey := domain.Issue("switch")
	foreign, foreignKey := other.Issue("switch")
	c := etcdtest.Start(t, 1, "https", "--cert-file", server, "--key-file", serverKey, "--client-cert-auth", "--trusted-ca-file", domain.File)
	n := startNode(t, "n", c.URLs(), func(c *Config) { c.CAFile, c.CertFile, c.KeyFile = domain.File, mine, mineKey })
	n.must(t, testKey(1))
	for name, test := range map[string]struct {
		ca, cert, key, reason string
	}{
		"etcd's certificate is of another CA":     {other.File, mine, mineKey, "certificate signed by unknown authority"},
		"the node's certificate is of another CA": {domain.File, foreign, foreignKey, cutOff},
		"no certificate":                          {domain.File, "", "", cutOff},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, c.URLs(), test.reason, "", func(c *Config) { c.CAFile, c.CertFile, c.KeyFile = test.ca, test.cert, test.key })
		})
	}
}
