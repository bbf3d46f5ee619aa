// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority signs certificates, and keeps them in files.
type authority struct {
	tb   testing.TB
	dir  string
	file string // its own certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(tb testing.TB, name string) *authority {
	tb.Helper()
	a := &authority{tb: tb, dir: tb.TempDir()}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.file, a.key, _ = a.sign("ca", a.cert, nil)
	return a
}

// sign signs with its own key, or with that of the certificate if it has none.
func (a *authority) sign(name string, cert *x509.Certificate, signer *ecdsa.PrivateKey) (file string, key *ecdsa.PrivateKey, keyFile string) {
	a.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.tb.Fatal(err)
	}
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, signer)
	if err != nil {
		a.tb.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.tb.Fatal(err)
	}
	file, keyFile = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	for path, block := range map[string]*pem.Block{file: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			a.tb.Fatal(err)
		}
	}
	return file, key, keyFile
}

func (a *authority) issue(name string) (file, keyFile string) {
	a.tb.Helper()
	file, _, keyFile = a.sign(name, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.key)
	return file, keyFile
}

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
	c := Config{Endpoints: urls, Node: "n", Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
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
	eventually(t, patience, reason, func() error {
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
	domain, other := newAuthority(t, "domain"), newAuthority(t, "other")
	server, serverKey := domain.issue("server")
	mine, mineKey := domain.issue("switch")
	foreign, foreignKey := other.issue("switch")
	c := startCluster(t, 1, "https", "--cert-file", server, "--key-file", serverKey, "--client-cert-auth", "--trusted-ca-file", domain.file)
	n := startNode(t, "n", c.urls(), func(c *Config) { c.CAFile, c.CertFile, c.KeyFile = domain.file, mine, mineKey })
	n.must(t, testKey(1))
	for name, test := range map[string]struct {
		ca, cert, key, reason string
	}{
		"etcd's certificate is of another CA":     {other.file, mine, mineKey, "certificate signed by unknown authority"},
		"the node's certificate is of another CA": {domain.file, foreign, foreignKey, cutOff},
		"no certificate":                          {domain.file, "", "", cutOff},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, c.urls(), test.reason, "", func(c *Config) { c.CAFile, c.CertFile, c.KeyFile = test.ca, test.cert, test.key })
		})
	}
}
