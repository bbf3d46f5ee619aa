// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Login is how a client shows who it is, and how it knows a server: names of PEM files, a
// user, and the password or the file whose first line it is.
type Login struct {
	CA, Cert, Key                string
	User, Password, PasswordFile string // a password without a user, of the environment, is for users of inventories
}

// or returns the login with the fields that it lacks taken from another one. Certificate
// and key belong together.
func (l Login) or(other Login) Login {
	if l.CA == "" {
		l.CA = other.CA
	}
	if l.Cert == "" && l.Key == "" {
		l.Cert, l.Key = other.Cert, other.Key
	}
	if l.User == "" {
		l.User = other.User
	}
	if l.Password == "" && l.PasswordFile == "" {
		l.Password, l.PasswordFile = other.Password, other.PasswordFile
	}
	return l
}

// Credentials are a login that was read.
type Credentials struct {
	// TLS lacks the name of the server.
	TLS *tls.Config
	// Metadata has user and password by turns with their names; nil without a user.
	Metadata []string
}

// Load reads the files of a login. Errors name a file's origin by name(key), with the key ca,
// cert, key, user or password-file, and never have the password.
func (l Login) Load(name func(key string) string) (*Credentials, error) {
	c := &Credentials{TLS: &tls.Config{MinVersion: tls.VersionTLS12}}
	if l.CA != "" {
		pem, err := os.ReadFile(l.CA)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name("ca"), err)
		}
		c.TLS.RootCAs = x509.NewCertPool()
		if !c.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s %s holds no certificate in PEM", name("ca"), l.CA)
		}
	}
	if (l.Cert == "") != (l.Key == "") {
		return nil, fmt.Errorf("%s and %s go together", name("cert"), name("key"))
	}
	if l.Cert != "" {
		own, err := tls.LoadX509KeyPair(l.Cert, l.Key)
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", name("cert"), name("key"), err)
		}
		c.TLS.Certificates = []tls.Certificate{own}
	}
	password := l.Password
	if l.PasswordFile != "" {
		secret, err := os.ReadFile(l.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name("password-file"), err)
		}
		password, _, _ = strings.Cut(string(secret), "\n")
		password = strings.TrimSuffix(password, "\r")
	}
	if l.User == "" && l.PasswordFile != "" || l.User != "" && password == "" {
		return nil, fmt.Errorf("%s and %s go together", name("user"), name("password-file"))
	}
	if l.User != "" {
		c.Metadata = []string{"username", l.User, "password", password}
	}
	return c, nil
}

// verifier returns the check of a server's certificate: by the CAs of a configuration, or
// those of the machine, and by one of the names.
func verifier(config *tls.Config, hosts []string) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("the server shows no certificate")
		}
		options := x509.VerifyOptions{Roots: config.RootCAs, Intermediates: x509.NewCertPool()}
		for _, c := range s.PeerCertificates[1:] {
			options.Intermediates.AddCert(c)
		}
		var err error
		for _, options.DNSName = range hosts {
			if _, err = s.PeerCertificates[0].Verify(options); err == nil {
				return nil
			}
		}
		return err
	}
}

// server returns the configuration for a server whose certificate has one of the names.
func (c *Credentials) server(hosts []string) *tls.Config {
	config := c.TLS.Clone()
	config.ServerName = hosts[0]
	// crypto/tls compares with one name alone: the check below takes its place, and is as strict.
	config.InsecureSkipVerify = true
	config.VerifyConnection = verifier(c.TLS, hosts)
	return config
}
