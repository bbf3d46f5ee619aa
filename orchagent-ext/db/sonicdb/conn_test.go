// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// peer is a Redis that serves each connection by a function, until the test ends.
func peer(t *testing.T, serve func(net.Conn)) *DB {
	t.Helper()
	dir, err := os.MkdirTemp("", "sonicdb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	config := filepath.Join(dir, "database_config.json")
	text := `{"INSTANCES":{"redis":{"unix_socket_path":"` + l.Addr().String() + `"}},"DATABASES":{"CONFIG_DB":{"id":0,"separator":"|","instance":"redis"}}}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Load(config, "")
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(d, "CONFIG_DB", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestLengthOfAPeerIsNoAllocation: a reply that announces terabytes fails each kind of
// access, and the process lives.
func TestLengthOfAPeerIsNoAllocation(t *testing.T) {
	for _, reply := range []string{"$999999999999\r\n", "*2\r\n$1\r\n0\r\n*999999999\r\n", "*2\r\n$999999999999\r\n"} {
		db := peer(t, func(c net.Conn) {
			for r := bufio.NewReader(c); ; {
				if _, err := r.ReadString('\n'); err != nil {
					return
				}
				if _, err := c.Write([]byte(reply)); err != nil {
					return
				}
			}
		})
		_, read := db.Read(t.Context(), "A")
		_, text := db.Text(t.Context(), "A")
		for name, err := range map[string]error{"Ping": db.Ping(t.Context()), "Read": read, "Text": text, "Write": db.Write(t.Context(), set("A", "1", nil))} {
			if err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
				t.Errorf("%q: %s: %v", reply, name, err)
			}
		}
	}
}

// TestRefusalOfRedisIsTheError: Redis with too many clients sends the reason and closes,
// before or after it gets a command.
func TestRefusalOfRedisIsTheError(t *testing.T) {
	const reason = "max number of clients reached"
	db := peer(t, func(c net.Conn) { _, _ = c.Write([]byte("-ERR " + reason + "\r\n")) })
	for range 200 {
		if err := db.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "CONFIG SET maxclients") {
			t.Fatal(err)
		}
	}
	// The order that the loop may miss: closed first.
	c, err := dial(t.Context(), db.Network, db.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for end := time.Now().Add(patience); ; {
		if _, err = c.Write([]byte("PING\r\n")); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the connection is not closed")
		}
	}
	if !strings.Contains(err.Error(), reason) {
		t.Error(err)
	}
}
