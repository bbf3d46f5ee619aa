// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/ygot/ygot"
	"golang.org/x/sync/errgroup"

	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/streamid"
	"sluice/yang/rows"
)

// TestGlobalScopeIsMadeAnew: what is configured, and the files, tell one scope from
// another.
func TestGlobalScopeIsMadeAnew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	c := &config.Global{
		EtcdEndpoints: []string{"http://192.0.2.1:2379"}, EtcdUser: ygot.String("switch"), EtcdPasswordFile: &file,
		StreamIdDomain: ygot.String("default"), StreamIdSeed: ygot.Uint32(0),
	}
	was := globalMade(c)
	for what, change := range map[string]func(){
		"endpoint": func() { c.EtcdEndpoints = []string{"http://192.0.2.2:2379"} },
		"domain":   func() { c.StreamIdDomain = ygot.String("pod-7") },
		"seed":     func() { c.StreamIdSeed = ygot.Uint32(1) },
		"user":     func() { c.EtcdUser = ygot.String("other") },
		"CA":       func() { c.EtcdCaFile = ygot.String("/ca") },
		"the file": func() {
			if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		if again := globalMade(c); again != was {
			t.Errorf("nothing changed: %q, and %q", was, again)
		}
		change()
		now := globalMade(c)
		if now == was {
			t.Errorf("%s: it is %q all the same", what, now)
		}
		was = now
	}
	if strings.Contains(was, "secret") {
		t.Errorf("%q tells the password", was)
	}
}

// TestGlobalScopeSaysWhatIsWrong: a file that is not there is no end, but a reason.
func TestGlobalScopeSaysWhatIsWrong(t *testing.T) {
	c := &config.Global{
		EtcdEndpoints: []string{"http://192.0.2.1:2379"}, EtcdUser: ygot.String("switch"), EtcdPasswordFile: ygot.String("/nowhere/password"),
		StreamIdDomain: ygot.String("default"), StreamIdSeed: ygot.Uint32(0),
	}
	s := streamIDs{}
	s.use(globalMade(c), begin(newGlobalScope(t.Context(), tasks{group: new(errgroup.Group)}, c, slog.New(slog.DiscardHandler))))
	if name, why := s.name(); name != "none" || why == nil || !strings.Contains(why.Error(), "open /nowhere/password") {
		t.Errorf("%s, %v", name, why)
	}
}

// TestGlobalConfigIsTheRow: every field of the row reaches etcd's client.
func TestGlobalConfigIsTheRow(t *testing.T) {
	row := rows.Row{Table: "SLUICE", Key: "global", Fields: map[string]string{
		"stream_id_scope": "global", "stream_id_seed": "7", "stream_id_domain": "pod-7", "etcd_endpoints@": "https://a:1,https://b:1",
		"etcd_ca_file": "/ca", "etcd_cert_file": "/cert", "etcd_key_file": "/key", "etcd_user": "switch", "etcd_password_file": "/password",
	}}
	c, err := rows.Decode(row)
	if err != nil {
		t.Fatal(err)
	}
	want := streamid.Config{
		Endpoints: []string{"https://a:1", "https://b:1"}, CAFile: "/ca", CertFile: "/cert", KeyFile: "/key", User: "switch", PasswordFile: "/password",
		Domain: "pod-7", Seed: 7,
	}
	if diff := cmp.Diff(want, globalConfig(c.(*config.Global))); diff != "" {
		t.Error(diff)
	}
}
