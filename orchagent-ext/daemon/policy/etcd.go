// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/host/etcd"
)

// Etcd returns the connection to etcd that is configured. The part
// that only the process may decide is [EtcdAccess], so that two of these can be compared.
func Etcd(c *config.Global) etcd.Config {
	return etcd.Config{
		Endpoints: c.EtcdEndpoints,
		CAFile:    Value(c.EtcdCaFile), CertFile: Value(c.EtcdCertFile), KeyFile: Value(c.EtcdKeyFile),
		User: Value(c.EtcdUser), PasswordFile: Value(c.EtcdPasswordFile),
		Domain: Value(c.StreamIdDomain),
	}
}

// EtcdAccess is the part of a connection to etcd that rows leave alone: which files are read,
// and whether a password may be sent without TLS.
type EtcdAccess struct {
	Read, ReadPassword func(leaf, path string) ([]byte, error)
	Plaintext          bool
}

// Apply returns a connection with the access.
func (a *EtcdAccess) Apply(c etcd.Config) etcd.Config {
	c.Read, c.ReadPassword, c.PlaintextPassword = a.Read, a.ReadPassword, a.Plaintext
	return c
}
