// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/ygot/ygot"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/etcd"
	"sluice/orchagent-ext/leaffile"
	"sluice/orchagent-ext/streamid"
	"sluice/yang/rows"
)

// TestGlobalScopeIsMadeAgainByItsConfiguration: what is configured tells one scope from
// another.
func TestGlobalScopeIsMadeAgainByItsConfiguration(t *testing.T) {
	c := &config.Global{
		EtcdEndpoints: []string{"http://192.0.2.1:2379"}, StreamIdDomain: ygot.String("default"), StreamIdSeed: ygot.Uint32(0),
		EtcdAllowPlaintext: ygot.Bool(false),
	}
	made := func() string { return fmt.Sprint(globalConfig(c)) }
	was := made()
	for what, change := range map[string]func(){
		"endpoint": func() { c.EtcdEndpoints = []string{"http://192.0.2.2:2379"} },
		"domain":   func() { c.StreamIdDomain = ygot.String("pod-7") },
		"seed":     func() { c.StreamIdSeed = ygot.Uint32(1) },
		"user":     func() { c.EtcdUser = ygot.String("other") },
		"CA":       func() { c.EtcdCaFile = ygot.String("/ca") },
		"plain":    func() { c.EtcdAllowPlaintext = ygot.Bool(true) },
	} {
		if again := made(); again != was {
			t.Errorf("nothing changed: %q, and %q", was, again)
		}
		change()
		now := made()
		if now == was {
			t.Errorf("%s: it is %q all the same", what, now)
		}
		was = now
	}
}

// TestGlobalScopeReadsOnlyFilesOfTheFolders: a row that names another file gets no
// scope, and says why; the file is not opened, and the loop does not wait for it: a
// FIFO would hold it up for good.
func TestGlobalScopeReadsOnlyFilesOfTheFolders(t *testing.T) {
	folder := t.TempDir()
	fifo := filepath.Join(folder, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/etc/shadow": `etcd_password_file "/etc/shadow": not below ` + folder,
		fifo:          `etcd_password_file "` + fifo + `": not a regular file`,
	} {
		c := &config.Global{
			EtcdEndpoints: []string{"http://192.0.2.1:2379"}, EtcdUser: ygot.String("switch"), EtcdPasswordFile: &path,
			StreamIdDomain: ygot.String("default"), StreamIdSeed: ygot.Uint32(0), EtcdAllowPlaintext: ygot.Bool(true),
			StreamIdScope: config.ScopeGlobal,
		}
		ctx, stop := context.WithCancel(t.Context())
		g := tasks{group: new(errgroup.Group)}
		o := &orch{
			Config:   Config{Log: slog.New(slog.DiscardHandler), Files: leaffile.Folders{folder}},
			sw:       &opened{},
			snapshot: &config.Snapshot{Global: c},
		}
		o.chooseScope(ctx, g)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			name, why := o.streams.name()
			if name == "none" && strings.Contains(why.Error(), want) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %s, %v, want %s", path, name, why, want)
			}
		}
		stop()
		if err := g.group.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestGlobalConfigIsTheRow: every field of the row reaches etcd's client.
func TestGlobalConfigIsTheRow(t *testing.T) {
	row := rows.Row{Table: "SLUICE", Key: "global", Fields: map[string]string{
		"stream_id_scope": "global", "stream_id_seed": "7", "stream_id_domain": "pod-7", "etcd_endpoints@": "https://a:1,https://b:1",
		"etcd_ca_file": "/ca", "etcd_cert_file": "/cert", "etcd_key_file": "/key", "etcd_user": "switch", "etcd_password_file": "/password",
		"etcd_allow_plaintext": "true",
	}}
	c, err := rows.Decode(row)
	if err != nil {
		t.Fatal(err)
	}
	want := streamid.Config{Seed: 7, Config: etcd.Config{
		Endpoints: []string{"https://a:1", "https://b:1"}, CAFile: "/ca", CertFile: "/cert", KeyFile: "/key", User: "switch", PasswordFile: "/password",
		PlaintextPassword: true, Domain: "pod-7",
	}}
	if diff := cmp.Diff(want, globalConfig(c.(*config.Global))); diff != "" {
		t.Error(diff)
	}
}
