// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

const (
	// Validity is how long a node uses its ids after etcd last answered.
	Validity = 10 * time.Second
	// Quarantine is how long an id stays reserved after its last use.
	Quarantine = 5 * time.Second
)

// Config of a [Global]. What is empty has the default that stands beside it. The
// files are read once, by [New].
type Config struct {
	Endpoints []string // URLs of etcd's members: http://10.0.0.1:2379, or https. Required
	CAFile    string   // PEM: who may have signed the members' certificates; https needs it
	CertFile  string   // PEM: our certificate, "" for none
	KeyFile   string   // PEM: its key
	User      string   // of etcd, "" for none
	Password  Secret

	PasswordFile string // in place of Password: its first line is it

	Domain         string         // whose flows share the ids: "default". Letters, digits, ".", "_", "-"
	Node           string         // this node, for whoever reads etcd: the host's name
	Classification Classification // what tells flows apart
	Seed           uint32         // of the id that is tried first, as in scope "hash"

	// Changed is called for a flow whose id is not what it was, after the node
	// lost its lease and took another. Lease is called when the node has a lease,
	// and when it has none: no id of it is valid then. Both are called by Run, and
	// must not block. nil: nobody cares.
	Changed func(Change)
	Lease   func(valid bool)
	Log     *slog.Logger // nil: nobody cares
}

// Secret is a text that is not printed.
type Secret string

// String hides the secret.
func (Secret) String() string { return "(hidden)" }

// GoString hides the secret.
func (Secret) GoString() string { return "(hidden)" }

// MarshalText hides the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte("(hidden)"), nil }

// complete puts in the defaults.
func (c *Config) complete() {
	if c.Domain == "" {
		c.Domain = "default"
	}
	if c.Node == "" {
		c.Node, _ = os.Hostname() // only for whoever reads etcd
	}
	if c.Changed == nil {
		c.Changed = func(Change) {}
	}
	if c.Lease == nil {
		c.Lease = func(bool) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// check returns what the etcd client is made of, or what is wrong.
func (c *Config) check() (*clientv3.Config, error) {
	if strings.ContainsFunc(c.Domain, func(r rune) bool { return !strings.ContainsRune(domainLetters, r) }) {
		return nil, fmt.Errorf("domain %q: letters, digits, '.', '_' and '-' are allowed", c.Domain)
	}
	if c.Classification > By5Tuple {
		return nil, fmt.Errorf("classification %d: %d (flow label) and %d (5-tuple) are allowed", c.Classification, ByFlowLabel, By5Tuple)
	}
	if c.PasswordFile != "" {
		text, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("password file of etcd: %w", err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		if c.Password = Secret(strings.TrimSuffix(line, "\r")); c.Password == "" {
			return nil, fmt.Errorf("password file of etcd %s: its first line is empty", c.PasswordFile)
		}
	}
	if (c.User == "") != (c.Password == "") {
		return nil, errors.New("user and password of etcd go together")
	}
	identity, err := c.identity()
	if err != nil {
		return nil, err
	}
	return &clientv3.Config{
		Endpoints: c.Endpoints, TLS: identity, Username: c.User, Password: string(c.Password),
		DialTimeout: 5 * time.Second, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		Logger: zap.NewNop(), // what goes wrong comes back as an error
	}, nil
}

const domainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// identity checks the endpoints and loads the certificates; nil: no TLS.
func (c *Config) identity() (*tls.Config, error) {
	if len(c.Endpoints) == 0 {
		return nil, errors.New("no endpoint of etcd: one at least is needed, like http://10.0.0.1:2379")
	}
	schemes := map[string]bool{}
	for _, e := range c.Endpoints {
		u, err := url.Parse(e)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
			return nil, errors.New("endpoint of etcd: not http://HOST:PORT or https://HOST:PORT: " + hideUser(e))
		}
		schemes[u.Scheme] = true
	}
	files := c.CAFile != "" || c.CertFile != "" || c.KeyFile != ""
	switch {
	case len(schemes) > 1:
		return nil, errors.New("endpoints of etcd: all are http, or all are https")
	case schemes["http"] && files:
		return nil, errors.New("endpoints of etcd are http: certificates need https")
	case schemes["http"]:
		return nil, nil
	case c.CAFile == "":
		return nil, errors.New("endpoints of etcd are https: a CA file is needed")
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("CA file of etcd: %w", err)
	}
	identity := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !identity.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file of etcd %s holds no certificate in PEM", c.CAFile)
	}
	if c.CertFile == "" && c.KeyFile == "" {
		return identity, nil
	}
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate file %q and key file %q for etcd: %w", c.CertFile, c.KeyFile, err)
	}
	identity.Certificates = []tls.Certificate{cert}
	return identity, nil
}

// hideUser cuts a user and password out of an endpoint that is no URL.
func hideUser(endpoint string) string {
	if _, host, found := strings.Cut(endpoint, "@"); found {
		return "…@" + host
	}
	return endpoint
}
