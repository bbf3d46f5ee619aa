// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority is a CA that makes certificates in a folder.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes a CA whose certificate is NAME.pem in dir.
func newAuthority(t *testing.T, dir, name string) *authority {
	t.Helper()
	a := &authority{t: t, dir: dir}
	a.cert = &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.key = a.issue(name, a.cert)
	return a
}

// file returns the path of a file in the folder.
func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// leaf makes NAME.pem and NAME.key for 127.0.0.1 and for the user of that name, for an hour.
func (a *authority) leaf(name string) tls.Certificate {
	return a.leafUntil(name, time.Now().Add(time.Hour))
}

// leafUntil is leaf with another end.
func (a *authority) leafUntil(name string, end time.Time) tls.Certificate {
	a.t.Helper()
	a.issue(name, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: end, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	pair, err := tls.LoadX509KeyPair(a.file(name+".pem"), a.file(name+".key"))
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

// issue signs a certificate, by itself if there is no CA yet, and writes it.
func (a *authority) issue(name string, c *x509.Certificate) *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.NotBefore = time.Now().Add(-time.Hour)
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	a.write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}))
	return key
}

// write replaces a file atomically, as tools that renew certificates should.
func (a *authority) write(name string, content []byte) {
	a.t.Helper()
	if err := os.WriteFile(a.file(name+".new"), content, 0o600); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(a.file(name+".new"), a.file(name)); err != nil {
		a.t.Fatal(err)
	}
}

// trust returns the configuration of a client that trusts the CA.
func (a *authority) trust(own ...tls.Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pem, err := os.ReadFile(a.file(a.cert.Subject.CommonName + ".pem"))
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		a.t.Fatalf("CA: %v", err)
	}
	return &tls.Config{RootCAs: pool, Certificates: own, MinVersion: tls.VersionTLS12}
}
