// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// checkFiles is how often the files of a connection are checked for changes.
const checkFiles = time.Second

// files are the contents of the files of a [Config]; "" for one without a name.
type files struct{ ca, cert, key, password string }

// read reads the files. It waits only where the functions of [Config] do.
func (c *Config) read() (f files, err error) {
	for _, each := range []struct {
		leaf, path string
		to         *string
		read       func(leaf, path string) ([]byte, error)
	}{
		{"etcd_ca_file", c.CAFile, &f.ca, c.Read}, {"etcd_cert_file", c.CertFile, &f.cert, c.Read},
		{"etcd_key_file", c.KeyFile, &f.key, c.Read}, {"etcd_password_file", c.PasswordFile, &f.password, c.ReadPassword},
	} {
		if each.path == "" {
			continue
		}
		content, err := each.read(each.leaf, each.path)
		if err != nil {
			return files{}, err
		}
		*each.to = string(content)
	}
	return f, nil
}

// client returns the configuration of the etcd client with these files.
func (c *Config) client(f files) (*clientv3.Config, error) {
	password := string(c.Password)
	if c.PasswordFile != "" {
		line, _, _ := strings.Cut(f.password, "\n")
		if password = strings.TrimSuffix(line, "\r"); password == "" {
			return nil, fmt.Errorf("etcd_password_file %s: its first line is empty", c.PasswordFile)
		}
	}
	identity, err := c.identity(f)
	if err != nil {
		return nil, err
	}
	return &clientv3.Config{
		Endpoints: c.Endpoints, TLS: identity, Username: c.User, Password: password,
		DialTimeout: 5 * time.Second, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		Logger: zap.NewNop(), // failures come back as errors
	}, nil
}

// identity is the node's certificate and the CA that it trusts; nil: plain TCP.
func (c *Config) identity(f files) (*tls.Config, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	identity := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !identity.RootCAs.AppendCertsFromPEM([]byte(f.ca)) {
		return nil, fmt.Errorf("etcd_ca_file %s holds no certificate in PEM", c.CAFile)
	}
	if c.CertFile == "" && c.KeyFile == "" {
		return identity, nil
	}
	cert, err := tls.X509KeyPair([]byte(f.cert), []byte(f.key))
	if err != nil {
		return nil, fmt.Errorf("certificate file %q and key file %q for etcd: %w", c.CertFile, c.KeyFile, err)
	}
	identity.Certificates = []tls.Certificate{cert}
	return identity, nil
}

// errFilesChanged is the cause with which the context of a connection ends after a change
// of its files.
var errFilesChanged = errors.New("files of etcd changed: connecting again with them")

// watchFiles stops a connection when the files hold anything else, until ctx ends.
func (c *Config) watchFiles(ctx context.Context, used files, stop context.CancelCauseFunc) {
	tick := time.NewTicker(checkFiles)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now, err := c.read(); err != nil || now != used {
			stop(errFilesChanged)
		}
	}
}
