// SPDX-License-Identifier: Apache-2.0

package streamids

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/host/etcd"
	"sluice/orchagent-ext/host/files"
)

// peer is what a row names as etcd: it speaks as much HTTP/2 as a gRPC client needs to send
// its first request, and keeps all that it received.
type peer struct {
	url string

	mu       sync.Mutex
	received bytes.Buffer
}

func listenAsEtcd(t *testing.T) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) //nolint:errcheck // the test is over
	p := &peer{url: "http://" + l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				settings := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0} // an empty frame of that type
				if _, err := conn.Write(settings); err == nil {
					io.Copy(p, conn) //nolint:errcheck // the peer ends it
				}
			}()
		}
	}()
	return p
}

func (p *peer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.received.Write(b)
}

func (p *peer) got(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Contains(p.received.Bytes(), []byte(text))
}

// chooseGlobal runs scope global by the connection of a row and a process's access to etcd until the test ends.
func chooseGlobal(t *testing.T, with etcd.Config, reader files.Reader, plaintext bool) *IDs {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	log := slog.New(slog.DiscardHandler)
	g, _ := task.NewGroup(ctx, log)
	with.Domain = "default"
	var s IDs
	s.Reconcile(g, Settings{Scope: config.ScopeGlobal, Etcd: with}, &etcd.Access{Read: reader.Read, ReadPassword: reader.ReadPassword, Plaintext: plaintext}, log)
	t.Cleanup(func() {
		stop()
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &s
}

// TestRowSendsNoFileToThePeerThatItNames: the user who writes a row of CONFIG_DB chooses the
// peer and the password file. No first line of a file of the folders reaches it but that of
// a file in the folder of passwords, and in plain text only where the process was started so.
func TestRowSendsNoFileToThePeerThatItNames(t *testing.T) {
	const secret = "alice:$2y$10$abcdefghijklmnopqrstuuE7oEx4fFXO1SvdQgrfMHWgV4K2gJd3S"
	folder := t.TempDir()
	users, password, named := filepath.Join(folder, "users"), filepath.Join(folder, "passwords", "etcd"), filepath.Join(folder, "passwords", "users")
	if err := os.Mkdir(filepath.Dir(password), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{users, password, named} {
		if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reader := files.Reader{Folders: []string{folder}, Reserved: []string{named}}
	for name, test := range map[string]struct {
		path      string
		plaintext bool
		want      string // of the warning; "": the peer gets the password
	}{
		"a file of another part":       {users, true, "move it to " + filepath.Join(folder, "passwords", "users")},
		"plain text by the row alone":  {password, false, "--etcd-allow-plaintext"},
		"a file that another part has": {named, true, "another part of Sluice"},
		"plain text by the process":    {password, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := listenAsEtcd(t)
			ids := chooseGlobal(t, etcd.Config{Endpoints: []string{p.url}, User: "switch", PasswordFile: test.path}, reader, test.plaintext)
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				sent := p.got(secret)
				scope, why := ids.name()
				if test.want == "" && sent {
					return
				}
				if test.want != "" && sent {
					t.Fatal("the peer that the row names has the secret")
				}
				if test.want != "" && scope == "none" && strings.Contains(why.Error(), test.want) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s, %v, want %q", scope, why, test.want)
				}
			}
		})
	}
}

// TestGlobalScopeReadsOnlyFilesOfTheFolders: a row that names another file gets no
// scope, and says why; the file is not opened, and the loop does not wait for it: a
// FIFO would hold it up for good.
func TestGlobalScopeReadsOnlyFilesOfTheFolders(t *testing.T) {
	folder := t.TempDir()
	fifo := filepath.Join(folder, "passwords", "fifo")
	if err := errors.Join(os.Mkdir(filepath.Dir(fifo), 0o700), unix.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/etc/shadow": `etcd_password_file "/etc/shadow": password files are read below`,
		fifo:          `etcd_password_file "` + fifo + `": not a regular file`,
	} {
		ids := chooseGlobal(t, etcd.Config{Endpoints: []string{"http://192.0.2.1:2379"}, User: "switch", PasswordFile: path}, files.Reader{Folders: []string{folder}}, true)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			name, why := ids.name()
			if name == "none" && strings.Contains(why.Error(), want) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %s, %v, want %s", path, name, why, want)
			}
		}
	}
}
