// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

// management is an etcd of one member in a namespace of its own, with a link to
// each of several leaves.
type management struct {
	t    testing.TB
	node *fabric.Node
	etcd *fabric.Process
	args []string
	log  *logged
	ask  *http.Client

	secret, token string // of root; "": no passwords are required
}

const etcdPort = "2379"

// newManagement starts etcd, and returns where each leaf reaches it.
func newManagement(t testing.TB, leaves ...*leaf) (m *management, endpoints []string) {
	t.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("etcd is not installed: make deps")
	}
	f := fabrictest.New(t)
	node, err := f.Node("etcd")
	fabrictest.Check(t, err)
	m = &management{t: t, node: node, log: &logged{}}
	for i, l := range leaves {
		here, there, err := f.Link(node, fmt.Sprint("leaf", i), l.Leaf, "mgmt")
		if err != nil {
			t.Fatal(err)
		}
		at := netip.AddrFrom4([4]byte{192, 0, 2, byte(2 * i)})
		for end, addr := range map[*fabric.Interface]netip.Addr{here: at, there: at.Next()} {
			if err := end.Address(netip.PrefixFrom(addr, 31)); err != nil {
				t.Fatal(err)
			}
		}
		endpoints = append(endpoints, "http://"+net.JoinHostPort(at.String(), etcdPort))
	}
	const peer = "http://127.0.0.1:2380"
	m.args = []string{
		"--name", "m", "--data-dir", t.TempDir(), "--logger", "zap",
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "m=" + peer,
		"--listen-client-urls", "http://0.0.0.0:" + etcdPort, "--advertise-client-urls", strings.Join(endpoints, ","),
	}
	m.ask = &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (conn net.Conn, err error) {
			err = node.Do(func() (err error) {
				conn, err = net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2379})
				return err
			})
			return conn, err
		},
	}}
	m.start()
	t.Cleanup(func() {
		if t.Failed() {
			text := m.log.String()
			t.Logf("etcd, its last words:\n%s", text[max(0, len(text)-2000):])
		}
	})
	return m, endpoints
}

// start starts etcd, with the data it had, and waits until it answers.
func (m *management) start() {
	m.t.Helper()
	cmd := exec.Command("etcd", m.args...)
	cmd.Env = append(cmd.Environ(), "GOMAXPROCS=1")
	cmd.Stdout, cmd.Stderr = m.log, m.log
	var err error
	if m.etcd, err = m.node.Start(cmd); err != nil {
		m.t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(10 * poll) {
		if _, err = m.keys("/"); err == nil {
			return
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("etcd does not answer: %v", err)
		}
	}
}

// post asks etcd by its gateway to JSON, and reads its answer. Where passwords are required it asks
// as root, and gets another token when etcd has forgotten the one that it had.
func (m *management) post(path string, ask, answer any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	for range 2 {
		var r *http.Request
		if r, err = http.NewRequest(http.MethodPost, "http://etcd/v3/"+path, bytes.NewReader(body)); err != nil {
			return err
		}
		if m.token != "" && !strings.HasPrefix(path, "auth/") {
			r.Header.Set("Authorization", m.token)
		}
		var got *http.Response
		if got, err = m.ask.Do(r); err != nil {
			return err
		}
		if got.StatusCode == http.StatusOK {
			return errors.Join(json.NewDecoder(got.Body).Decode(answer), got.Body.Close())
		}
		text, _ := io.ReadAll(got.Body)
		err = errors.Join(fmt.Errorf("etcd answers %s to %s: %s", got.Status, path, text), got.Body.Close())
		if m.secret == "" || strings.HasPrefix(path, "auth/") || m.logIn() != nil {
			break
		}
	}
	return err
}

// put writes a key.
func (m *management) put(key, value string) {
	m.t.Helper()
	if err := m.post("kv/put", map[string][]byte{"key": []byte(key), "value": []byte(value)}, &struct{}{}); err != nil {
		m.t.Fatal(err)
	}
}

// requirePasswords makes users root and switch, who have full access and one password, and turns
// authentication on.
func (m *management) requirePasswords(secret string) {
	m.t.Helper()
	type asked map[string]string
	for _, step := range []struct {
		path string
		ask  asked
	}{
		{"user/add", asked{"name": "root", "password": secret}}, {"user/grant", asked{"user": "root", "role": "root"}},
		{"user/add", asked{"name": "switch", "password": secret}}, {"user/grant", asked{"user": "switch", "role": "root"}},
		{"enable", asked{}},
	} {
		if err := m.post("auth/"+step.path, step.ask, &struct{}{}); err != nil {
			m.t.Fatal(err)
		}
	}
	m.secret = secret
}

// logIn gets a token.
func (m *management) logIn() error {
	var answer struct{ Token string }
	err := m.post("auth/authenticate", map[string]string{"name": "root", "password": m.secret}, &answer)
	m.token = answer.Token
	return err
}

// keys are the keys below a prefix, with their values.
func (m *management) keys(prefix string) (map[string]string, error) {
	end := []byte(prefix)
	end[len(end)-1]++
	var said struct {
		KVs []struct{ Key, Value []byte }
	}
	if err := m.post("kv/range", map[string][]byte{"key": []byte(prefix), "range_end": end}, &said); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, kv := range said.KVs {
		found[string(kv.Key)] = string(kv.Value)
	}
	return found, nil
}
