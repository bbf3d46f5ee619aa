// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

// A proxy relays between the server and Redis, and breaks the connection when the
// transaction of a Set comes.
type proxy struct {
	socket string // of Redis
	breaks atomic.Int32
}

const (
	breaksNot    = iota
	breaksBefore // Redis gets the transaction
	breaksAfter  // Redis has carried it out, and before the answer is passed on
)

func (p *proxy) serve(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		redis, err := net.Dial("unix", p.socket)
		if err != nil {
			_ = client.Close()
			continue
		}
		var cut atomic.Bool // the next answer is not passed on
		go p.pass(client, redis, func(b []byte) bool {
			exec := bytes.Contains(bytes.ToLower(b), []byte("\r\nexec\r\n")) && !bytes.Contains(b, []byte("SLUICE_GNMI_STATS"))
			if exec && p.breaks.CompareAndSwap(breaksAfter, breaksNot) {
				cut.Store(true)
			}
			return !exec || !p.breaks.CompareAndSwap(breaksBefore, breaksNot)
		})
		go p.pass(redis, client, func([]byte) bool { return !cut.Load() })
	}
}

// pass copies until one side ends, or ok says no.
func (p *proxy) pass(from, to net.Conn, ok func([]byte) bool) {
	defer func() { _, _ = from.Close(), to.Close() }()
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		if err != nil || !ok(b[:n]) {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// The connection breaks while Redis writes: the answer says whether the Set was
// written.
func TestSetSurvivesALostAnswerOfRedis(t *testing.T) {
	s := start(t)
	s.kill()
	p := &proxy{socket: s.redis.Socket}
	l, err := net.Listen("unix", filepath.Join(s.dir, "proxy.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go p.serve(l)
	text, err := os.ReadFile(s.redis.Config)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(s.dir, "by_proxy.json")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(string(text), s.redis.Socket, l.Addr().String())), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run("--db-config", config)

	two := func(v string) *gpb.SetRequest {
		r := algorithm(v, nil)
		r.Update = append(r.Update, update("/sonic-sluice/SLUICE_PFCM/global/admin_state", str("enabled")))
		return r
	}
	p.breaks.Store(breaksBefore)
	_, err = s.set(two("crc32"))
	fails(t, "Redis did not get it", err, codes.Unavailable)
	is(t, "rows", s.rows(), rowsMap{})

	p.breaks.Store(breaksAfter)
	_, err = s.set(two("crc32"))
	fails(t, "Redis has written it", err, codes.OK)
	is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32"}, "SLUICE_PFCM|global": {"admin_state": "enabled"}})
	if p.breaks.Load() != breaksNot {
		t.Error("no connection was broken")
	}
}
