// SPDX-License-Identifier: Apache-2.0

package etcd

// Access is the part of a [Config] that a process decides: which files are read, and whether a
// password may be sent without TLS. The rest may come of rows that any operator writes.
type Access struct {
	Read, ReadPassword func(leaf, path string) ([]byte, error)
	Plaintext          bool
}

// Apply returns the configuration with the access.
func (a *Access) Apply(c Config) Config {
	c.Read, c.ReadPassword, c.PlaintextPassword = a.Read, a.ReadPassword, a.Plaintext
	return c
}
