// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/credentials"
)

// certified returns the identity of a server at 127.0.0.1, and the file of the CA that signed it.
func certified(t testing.TB) (identity credentials.TransportCredentials, ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"leaf1"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return credentials.NewServerTLSFromCert(&tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}), ca
}

// TestCertificateIsForTheNameOrTheAddress of a switch, and no other.
func TestCertificateIsForTheNameOrTheAddress(t *testing.T) {
	identity, ca := certified(t)
	address := serve(t, running(), identity)
	for name, tt := range map[string]struct {
		target Target
		good   bool
	}{
		"the address":          {Target{Name: "leaf9", Address: address}, true},
		"the name":             {Target{Name: "leaf1", Address: address}, true},
		"the name of the file": {Target{Name: "leaf9", Address: address, ServerName: "leaf1"}, true},
		"another name of it":   {Target{Name: "leaf1", Address: address, ServerName: "leaf2"}, false},
	} {
		f, err := NewFleet([]Target{tt.target}, Options{Timeout: 3 * time.Minute, Login: Login{CA: ca}})
		if err != nil {
			t.Fatal(err)
		}
		if r := f.Read(t.Context(), state)[0]; (r.Err == nil) != tt.good {
			t.Errorf("%s: %v", name, r.Err)
		}
		f.Close()
	}
}

// BenchmarkRead128 is the time of an answer of 128 switches with 64 ports each, by TLS on new
// connections, of which 8 never answer.
func BenchmarkRead128(b *testing.B) {
	const n, hanging, ports = 128, 8, 64
	identity, ca := certified(b)
	var rows []*gpb.Update
	for i := range ports {
		for _, field := range []string{"rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "oper_status", "role"} {
			rows = append(rows, row(fmt.Sprintf("COUNTERS_DB/localhost/SLUICE_PORT_STATS/Ethernet%d/%s", 4*i, field), said("1234567890")))
		}
	}
	var all []Target
	for i := range n {
		address := ""
		if i%(n/hanging) == 3 {
			address = silent(b)
		} else {
			address = serve(b, sends(update(time.Unix(1000, 0), rows...), synced), identity)
		}
		all = append(all, Target{Name: fmt.Sprint("leaf", i), Address: address})
	}
	var longest time.Duration
	for b.Loop() {
		began := time.Now()
		f, err := NewFleet(all, Options{Login: Login{CA: ca}})
		if err != nil {
			b.Fatal(err)
		}
		silent := 0
		for _, r := range f.Read(b.Context(), map[string][]string{"COUNTERS_DB": {"SLUICE_PORT_STATS"}}) {
			if r.Err != nil {
				silent++
			} else if len(r.Rows) != ports {
				b.Errorf("%s: %d rows", r.Target.Name, len(r.Rows))
			}
		}
		f.Close()
		if silent != hanging {
			b.Errorf("%d did not answer, %d hang", silent, hanging)
		}
		longest = max(longest, time.Since(began))
	}
	b.ReportMetric(longest.Seconds(), "s")
}
