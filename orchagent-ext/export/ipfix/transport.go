// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/pion/dtls/v3"
)

// Transport is how messages travel. Its zero value is UDP.
type Transport uint8

// The transports, RFC 7011 section 10.
const (
	UDP Transport = iota
	TCP
	TLS
	DTLS
	numTransports
)

// transportNames are the names in CONFIG_DB and flags.
var transportNames = [numTransports]string{"udp", "tcp", "tls", "dtls"}

// String returns the value of the leaf transport in CONFIG_DB. t is one of the four;
// another value panics.
func (t Transport) String() string { return transportNames[t] }

// MarshalText returns the transport's name. It implements [encoding.TextMarshaler], and
// its error is always nil.
func (t Transport) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText sets the transport by its name. Another text is an error that lists the
// names, and t stays as it is.
func (t *Transport) UnmarshalText(text []byte) error {
	for i, name := range transportNames {
		if name == string(text) {
			*t = Transport(i)
			return nil
		}
	}
	return fmt.Errorf("transport %q: udp, tcp, tls, dtls are allowed", text)
}

// Port is the port that IANA gave the transport: 4739, or 4740 where it is
// encrypted.
func (t Transport) Port() uint16 {
	if t.encrypted() {
		return 4740
	}
	return 4739
}

// encrypted reports whether the transport needs certificates.
func (t Transport) encrypted() bool { return t == TLS || t == DTLS }

// stream reports whether the transport delivers, in order.
func (t Transport) stream() bool { return t == TCP || t == TLS }

// Times and sizes of transports. A record of TLS has at most 2¹⁴ octets (RFC 8446
// section 5.1); DTLS adds 37 octets to each message (RFC 6347 section 4.1, AES-GCM of
// RFC 5288).
const (
	handshakeTime = 10 * time.Second
	minHandshake  = 3 * time.Second
	// On a link without delay the round trip that settle doubles is less than a collector
	// needs to check a certificate.
	minSettle    = 50 * time.Millisecond
	streamLimit  = 1 << 14 // octets of a message over TCP; one TLS record
	udpHeader    = 8
	dtlsOverhead = 13 + 8 + 16 // record header, explicit nonce, tag
)

// dial connects to the collector within a time. limit is the longest message, octets.
func (c *collector) dial(ctx context.Context, within time.Duration) (conn net.Conn, limit int, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var d net.Dialer
	switch c.to.Transport {
	case TCP:
		conn, err = d.DialContext(ctx, "tcp", c.to.Address)
		return conn, streamLimit, err
	case TLS:
		identity, err := c.identity()
		if err != nil {
			return nil, 0, err
		}
		began := time.Now()
		conn, err = (&tls.Dialer{Config: identity}).DialContext(ctx, "tcp", c.to.Address)
		if err != nil {
			return nil, 0, err
		}
		if err := settle(conn, 2*time.Since(began)); err != nil {
			conn.Close() //nolint:errcheck // nothing was sent
			return nil, 0, err
		}
		return conn, streamLimit, nil
	}
	plain, err := d.DialContext(ctx, "udp", c.to.Address)
	if err != nil {
		return nil, 0, err
	}
	u := plain.(*net.UDPConn)
	if limit, err = c.to.datagramLimit(u); err == nil && c.to.Transport == UDP {
		return u, limit, nil
	}
	if err == nil {
		limit -= dtlsOverhead
		conn, err = c.secure(ctx, u, limit)
	}
	if err != nil {
		u.Close() //nolint:errcheck // nothing was sent
	}
	return conn, limit, err
}

// settle waits before records are sent. In TLS 1.3 a collector rejects Sluice's
// certificate only after the handshake. In DTLS records that come in while the
// collector completes the handshake, or that its end overtakes, are lost.
func settle(conn net.Conn, d time.Duration) error {
	if err := conn.SetReadDeadline(time.Now().Add(max(d, minSettle))); err != nil {
		return err
	}
	var timeout net.Error
	if _, err := conn.Read(make([]byte, 1)); err != nil && (!errors.As(err, &timeout) || !timeout.Timeout()) {
		return err
	}
	return conn.SetReadDeadline(time.Time{})
}

// datagramLimit returns the largest datagram in octets: the smaller of the path
// MTU that was configured and the one that the kernel has.
func (c *Collector) datagramLimit(u *net.UDPConn) (int, error) {
	v6 := u.RemoteAddr().(*net.UDPAddr).IP.To4() == nil
	header := 20
	if v6 {
		header = 40
	}
	mtu := c.PathMTU
	if known := pathMTU(u, v6); known > 0 {
		mtu = min(mtu, known)
	}
	limit := mtu - header - udpHeader
	if limit-dtlsOverhead < minLimit {
		return 0, fmt.Errorf("path MTU to %s is %d octets: at least %d are needed", u.RemoteAddr(), mtu, MinPathMTU)
	}
	return limit, nil
}

// secure makes a DTLS connection. It fails with an ICMP port unreachable, which
// a collector that ended causes.
func (c *collector) secure(ctx context.Context, u *net.UDPConn, limit int) (net.Conn, error) {
	identity, err := c.identity()
	if err != nil {
		return nil, err
	}
	options := []dtls.ClientOption{
		dtls.WithRootCAs(identity.RootCAs), dtls.WithServerName(identity.ServerName),
		dtls.WithExtendedMasterSecret(dtls.RequireExtendedMasterSecret), dtls.WithMTU(limit),
		dtls.WithCipherSuites(dtls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, dtls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			dtls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, dtls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
	}
	if len(identity.Certificates) > 0 { // pion rejects the option without one
		options = append(options, dtls.WithCertificates(identity.Certificates...))
	}
	conn, err := dtls.ClientWithOptions(connected{u}, u.RemoteAddr(), options...)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err = conn.HandshakeContext(ctx); err == nil {
		err = settle(conn, 2*time.Since(began))
	}
	if err != nil {
		conn.Close() //nolint:errcheck // it was never established
		return nil, err
	}
	return conn, nil
}

// connected is a connected UDP socket in the form that pion wants. Its errors
// count as permanent.
type connected struct{ *net.UDPConn }

// ReadFrom reads a datagram; an ICMP port unreachable is errRefused. The address is the
// collector's, as the socket is connected.
func (c connected) ReadFrom(b []byte) (int, net.Addr, error) {
	n, err := c.Read(b)
	if refused(err) {
		err = errRefused
	}
	return n, c.RemoteAddr(), err
}

// WriteTo writes to the connected address and ignores the argument. An ICMP port
// unreachable of an earlier datagram is the error of a later call (ECONNREFUSED, udp(7)).
func (c connected) WriteTo(b []byte, _ net.Addr) (int, error) { return c.Write(b) }

// errRefused is the ICMP port unreachable of a UDP collector.
var errRefused = errors.New("port unreachable: no collector listens there")

// refused reports whether an ICMP port unreachable came back.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// identity is who we are, and whom we trust.
func (c *collector) identity() (*tls.Config, error) {
	host, _, err := net.SplitHostPort(c.to.Address)
	if err != nil {
		return nil, err
	}
	host, _, _ = strings.Cut(host, "%") // a certificate knows no zone
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	pem, err := c.config.Read("ca_file", c.to.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read CA file: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file %s: no PEM certificate in it", c.to.CAFile)
	}
	if c.to.CertFile == "" {
		return config, nil
	}
	cert, err := c.config.Read("cert_file", c.to.CertFile)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	key, err := c.config.Read("key_file", c.to.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("load certificate %s with key %s: %w", c.to.CertFile, c.to.KeyFile, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
