// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// Validity is how long a node uses its ids after etcd last answered.
	Validity = 10 * time.Second
	// Quarantine is how long an id stays reserved after its last use.
	Quarantine = 5 * time.Second
)

// Config of a [Global]. What is empty has the default that is given beside it. The
// files are read by [Global.Run], again where they change.
type Config struct {
	Endpoints []string // URLs of etcd's members: http://10.0.0.1:2379, or https. Required
	CAFile    string   // PEM: who may have signed the members' certificates; https needs it
	CertFile  string   // PEM: our certificate, "" for none
	KeyFile   string   // PEM: its key
	User      string   // of etcd, "" for none
	Password  Secret

	PasswordFile string // in place of Password: its first line is it

	// PlaintextPassword allows to send the password to endpoints of http.
	PlaintextPassword bool

	// Read reads a file; leaf is the name that CONFIG_DB has for it. nil: os.ReadFile,
	// where the user of this process chose the paths.
	Read func(leaf, path string) ([]byte, error)

	Domain         string         // whose flows share the ids: "default". Letters, digits, ".", "_", "-"
	Node           string         // name of this node, for people who read etcd; default: the host's name
	Classification Classification // what tells flows apart
	Seed           uint32         // of the id that is tried first, as in scope "hash"

	// Changed is called for a flow whose id is not what it was, after the node
	// lost its lease and took another. Lease is called when the node has a lease,
	// and when it has none: no id of it is valid then. Both are called by Run, and
	// must not block. Both may be nil.
	Changed func(Change)
	Lease   func(valid bool)
	Log     *slog.Logger // nil: no log
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
		c.Node, _ = os.Hostname() // only for people who read etcd
	}
	if c.Changed == nil {
		c.Changed = func(Change) {}
	}
	if c.Lease == nil {
		c.Lease = func(bool) {}
	}
	if c.Read == nil {
		c.Read = func(_, path string) ([]byte, error) { return os.ReadFile(path) }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// check says what is wrong, as far as that can be told without the files.
func (c *Config) check() error {
	if strings.ContainsFunc(c.Domain, func(r rune) bool { return !strings.ContainsRune(domainLetters, r) }) {
		return fmt.Errorf("domain %q: letters, digits, '.', '_' and '-' are allowed", c.Domain)
	}
	if c.Classification > By5Tuple {
		return fmt.Errorf("classification %d: %d (flow label) and %d (5-tuple) are allowed", c.Classification, ByFlowLabel, By5Tuple)
	}
	hasPassword := c.Password != "" || c.PasswordFile != ""
	if (c.User == "") != !hasPassword {
		return errors.New("user and password of etcd go together")
	}
	encrypted, err := c.encrypted()
	if err == nil && hasPassword && !encrypted && !c.PlaintextPassword {
		err = errors.New("endpoints of etcd are http, so the password would travel in plain text: use https, or allow it with etcd_allow_plaintext=true")
	}
	return err
}

const domainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// encrypted checks the endpoints and what goes with them, and says whether they take
// TLS.
func (c *Config) encrypted() (bool, error) {
	if len(c.Endpoints) == 0 {
		return false, errors.New("no endpoint of etcd: one at least is needed, like http://10.0.0.1:2379")
	}
	schemes := map[string]bool{}
	for _, e := range c.Endpoints {
		u, err := url.Parse(e)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
			return false, errors.New("endpoint of etcd: not http://HOST:PORT or https://HOST:PORT: " + hideUser(e))
		}
		schemes[u.Scheme] = true
	}
	files := c.CAFile != "" || c.CertFile != "" || c.KeyFile != ""
	switch {
	case len(schemes) > 1:
		return false, errors.New("endpoints of etcd: all are http, or all are https")
	case schemes["http"] && files:
		return false, errors.New("endpoints of etcd are http: certificates need https")
	case schemes["https"] && c.CAFile == "":
		return false, errors.New("endpoints of etcd are https: a CA file is needed")
	}
	return schemes["https"], nil
}

// hideUser cuts a user and password out of an endpoint that is no URL.
func hideUser(endpoint string) string {
	if _, host, found := strings.Cut(endpoint, "@"); found {
		return "…@" + host
	}
	return endpoint
}
