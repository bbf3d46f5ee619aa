// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/tests/etcdtest"
)

// replace puts the content of a file in place of another's, atomically.
func replace(t *testing.T, to, from string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(to+".new", to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestBoardFollowsCertificates: files that are replaced while sluiced runs are used at once; a
// certificate that is wrong, expired or revoked ends the sharing, with the reason, and the next
// good one begins it again.
func TestBoardFollowsCertificates(t *testing.T) {
	t.Parallel()
	domain, other := etcdtest.NewAuthority(t, "domain"), etcdtest.NewAuthority(t, "other")
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	use := func(role string, cert, key string) { // the key first: the pair does not fit for a moment
		replace(t, file(role+".key"), key)
		replace(t, file(role+".pem"), cert)
	}
	serverCert, serverKey := domain.Issue("server")
	use("server", serverCert, serverKey)
	mine, mineKey := domain.Issue("switch")
	use("switch", mine, mineKey)
	replace(t, file("ca.pem"), domain.File)
	replace(t, file("revoked.pem"), domain.Revoke())
	c := etcdtest.Start(t, 1, "https", "--cert-file", file("server.pem"), "--key-file", file("server.key"), "--client-cert-auth",
		"--trusted-ca-file", domain.File, "--client-crl-file", file("revoked.pem"))
	config := boardConfig(t, c, "a")
	config.CAFile, config.CertFile, config.KeyFile = file("ca.pem"), file("switch.pem"), file("switch.key")
	b, err := NewBoard(config)
	if err != nil {
		t.Fatal(err)
	}
	is := runBoard(t, b, 3*time.Second, 500*time.Millisecond)
	is.Put([]byte("of a"))
	shared := func(v View) bool { return leads(v) && string(v.Rows["a"]) == "of a" }
	is.await(t, "it leads", shared)
	restart := func() { // a connection that is open outlives what it was opened with
		c.Kill(0)
		c.Start(0)
	}
	for _, one := range []struct {
		name         string
		wrong, right func()
		reason       string // one of these, with "|" between
	}{
		{"a CA that did not sign etcd's certificate", func() { replace(t, file("ca.pem"), other.File) }, func() { replace(t, file("ca.pem"), domain.File) },
			"certificate signed by unknown authority"},
		{"a certificate of another CA", func() {
			cert, key := other.Issue("switch")
			use("switch", cert, key)
		}, func() { use("switch", mine, mineKey) }, cutOff},
		{"an expired certificate", func() {
			cert, key := domain.IssueUntil("old", time.Now().Add(-time.Minute))
			use("switch", cert, key)
		}, func() { use("switch", mine, mineKey) }, "etcd_cert_file " + file("switch.pem") + " expired at "},
		{"an expired certificate of etcd", func() {
			cert, key := domain.IssueUntil("old-server", time.Now().Add(-time.Minute))
			use("server", cert, key)
			restart()
		}, func() { use("server", serverCert, serverKey); restart() }, "certificate has expired"},
		{"a revoked certificate", func() { replace(t, file("revoked.pem"), domain.Revoke(mine)); restart() }, func() {
			cert, key := domain.Issue("next")
			use("switch", cert, key)
		}, cutOff},
	} {
		one.wrong()
		v := is.await(t, one.name+" ends the sharing, with the reason", func(v View) bool {
			for reason := range strings.SplitSeq(one.reason, "|") {
				if errors.Is(v.Err, ErrNotShared) && strings.Contains(v.Err.Error(), reason) {
					return true
				}
			}
			return false
		})
		t.Logf("%s: %v", one.name, v.Err)
		one.right()
		is.await(t, "shared after "+one.name, shared)
	}
}

// cutOff is how a member refuses a certificate: by an alert, which is lost when it closes the
// connection before all is read that was sent.
const cutOff = "remote error: tls: |broken pipe|connection reset|EOF"
