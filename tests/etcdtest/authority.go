// SPDX-License-Identifier: Apache-2.0

package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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

// Authority signs certificates, and keeps them in files.
type Authority struct {
	tb   testing.TB
	dir  string
	File string // its own certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	serial int64 // of the certificate that was issued last
}

// NewAuthority makes one.
func NewAuthority(tb testing.TB, name string) *Authority {
	tb.Helper()
	a := &Authority{tb: tb, dir: tb.TempDir()}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		SubjectKeyId: []byte(name), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	a.File, a.key, _ = a.sign("ca", a.cert, nil)
	return a
}

// sign signs with its own key, or with that of the certificate if it has none.
func (a *Authority) sign(name string, cert *x509.Certificate, signer *ecdsa.PrivateKey) (file string, key *ecdsa.PrivateKey, keyFile string) {
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

// Issue signs a certificate for 127.0.0.1, of a server and a client, that is valid for an hour.
func (a *Authority) Issue(name string) (file, keyFile string) {
	return a.IssueUntil(name, time.Now().Add(time.Hour))
}

// IssueUntil is Issue with another end.
func (a *Authority) IssueUntil(name string, end time.Time) (file, keyFile string) {
	a.tb.Helper()
	a.serial++
	file, _, keyFile = a.sign(name, &x509.Certificate{
		SerialNumber: big.NewInt(1 + a.serial), Subject: pkix.Name{CommonName: name}, NotBefore: end.Add(-2 * time.Hour), NotAfter: end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.key)
	return file, keyFile
}

// Revoke writes the list of revoked certificates, of those in the files, and returns its file.
func (a *Authority) Revoke(files ...string) (list string) {
	a.tb.Helper()
	template := &x509.RevocationList{Number: big.NewInt(time.Now().UnixNano()), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour)}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			a.tb.Fatal(err)
		}
		block, _ := pem.Decode(text)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			a.tb.Fatal(err)
		}
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: cert.SerialNumber, RevocationTime: time.Now().Add(-time.Minute)})
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, a.cert, a.key)
	if err != nil {
		a.tb.Fatal(err)
	}
	list = filepath.Join(a.dir, "revoked.pem")
	if err := os.WriteFile(list, pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}), 0o600); err != nil {
		a.tb.Fatal(err)
	}
	return list
}
