// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// Config has the endpoints of etcd, and this node's credentials. An empty field has the
// default beside it. The files are read when a connection begins, again where they
// change.
type Config struct {
	Endpoints []string // URLs of etcd's members: http://10.0.0.1:2379, or https. Required
	// PEM: who may have signed the members' certificates; https needs it
	CAFile   string
	CertFile string // PEM: this node's certificate, or ""
	KeyFile  string // PEM: its key
	User     string // of etcd, or ""
	Password Secret

	PasswordFile string // in place of Password: its first line is it

	// PlaintextPassword allows to send the password to endpoints of http.
	PlaintextPassword bool

	// Read reads a file of certificates or keys, ReadPassword the file of the password;
	// leaf is the name that CONFIG_DB has for it. nil: os.ReadFile, where the user of this
	// process chose the paths.
	Read, ReadPassword func(leaf, path string) ([]byte, error)

	// which nodes share what they write: "default". Letters, digits, ".", "_", "-"
	Domain string
}

// Secret is a text that package fmt prints masked.
type Secret string

// String hides the secret.
func (Secret) String() string { return "(hidden)" }

// GoString hides the secret.
func (Secret) GoString() string { return "(hidden)" }

// MarshalText hides the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte("(hidden)"), nil }

// Complete puts in the defaults. Domain becomes "default", and files are read by
// os.ReadFile.
func (c *Config) Complete() {
	if c.Domain == "" {
		c.Domain = "default"
	}
	for _, read := range []*func(_, path string) ([]byte, error){&c.Read, &c.ReadPassword} {
		if *read == nil {
			*read = func(_, path string) ([]byte, error) { return os.ReadFile(path) }
		}
	}
}

// Check returns the first error of the configuration, without reading the files. It is
// for a completed one. A password that would travel in plain text is an error, too.
func (c *Config) Check() error {
	if strings.ContainsFunc(c.Domain, func(r rune) bool { return !strings.ContainsRune(domainLetters, r) }) {
		return fmt.Errorf("domain %q: letters, digits, '.', '_' and '-' are allowed", c.Domain)
	}
	hasPassword := c.Password != "" || c.PasswordFile != ""
	if (c.User == "") != !hasPassword {
		return errors.New("user and password of etcd go together")
	}
	encrypted, err := c.encrypted()
	if err == nil && hasPassword && !encrypted && !c.PlaintextPassword {
		err = errors.New("endpoints of etcd are http, so the password would travel in plain text: use https, or start sluiced with --etcd-allow-plaintext")
	}
	return err
}

// Prefix is that of all keys of the domain; it ends with "/".
func (c *Config) Prefix() string { return "/sluice/" + c.Domain + "/" }

// domainLetters are the letters of the names of domains and nodes, which are parts of
// keys.
const domainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// encrypted checks the endpoints and the files for them, and reports whether they take
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

// hideUser cuts a user and password out of an endpoint that url.Parse rejects.
func hideUser(endpoint string) string {
	if _, host, found := strings.Cut(endpoint, "@"); found {
		return "…@" + host
	}
	return endpoint
}
