// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"

	"sluice/orchagent-ext/host/login"
)

// Certificates are the server's certificate and key, and the CA that must have
// signed a client's certificate.
type Certificates struct {
	file *login.File[*tls.Config]
}

// OpenCertificates reads PEM files. Without a CA clients need no certificate. The error
// is that of the first reading; a later one is logged, and the files before stay in
// force.
func OpenCertificates(cert, key, ca string, log *slog.Logger) (*Certificates, error) {
	files := []string{cert, key}
	if ca != "" {
		files = append(files, ca)
	}
	f, err := login.Open(log, func() (*tls.Config, error) { return loadTLS(cert, key, ca) }, files...)
	if err != nil {
		return nil, err
	}
	return &Certificates{f}, nil
}

// Config returns the server's TLS configuration, which follows the files. Each handshake
// takes the files as they are then; connections that are open keep theirs.
func (c *Certificates) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.file.Get(), nil
		},
	}
}

// trust reports whether a client's certificates, its own first, are valid now by the
// CA as the file has it now.
func (c *Certificates) trust(chain []*x509.Certificate) error {
	others := x509.NewCertPool()
	for _, one := range chain[1:] {
		others.AddCert(one)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: c.file.Get().ClientCAs, Intermediates: others, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// loadTLS reads PEM files into a configuration of TLS 1.2 or later with HTTP/2. ca may be
// "": clients then may lack a certificate.
func loadTLS(cert, key, ca string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s and key %s: %w", cert, key, err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
	if ca == "" {
		return c, nil
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("CA: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("CA %s: no certificate in it; it must be PEM", ca)
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	return c, nil
}
