// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
)

// Certificates returns the server's TLS configuration: its certificate and key,
// and the CA that must have signed a client's certificate; without a CA clients
// need none. All are PEM files.
func Certificates(cert, key, ca string, log *slog.Logger) (*tls.Config, error) {
	files := []string{cert, key}
	if ca != "" {
		files = append(files, ca)
	}
	f, err := open(log, func() (*tls.Config, error) { return loadTLS(cert, key, ca) }, files...)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return f.get(), nil
		},
	}, nil
}

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
