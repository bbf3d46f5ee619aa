// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
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

// put writes a key.
func (m *management) put(key, value string) {
	m.t.Helper()
	ask, err := json.Marshal(map[string][]byte{"key": []byte(key), "value": []byte(value)})
	if err != nil {
		m.t.Fatal(err)
	}
	answer, err := m.ask.Post("http://etcd/v3/kv/put", "application/json", bytes.NewReader(ask))
	if err != nil {
		m.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		m.t.Fatalf("etcd answers %s", answer.Status)
	}
}

// keys are the keys below a prefix, with their values.
func (m *management) keys(prefix string) (map[string]string, error) {
	end := []byte(prefix)
	end[len(end)-1]++
	ask, err := json.Marshal(map[string][]byte{"key": []byte(prefix), "range_end": end})
	if err != nil {
		return nil, err
	}
	answer, err := m.ask.Post("http://etcd/v3/kv/range", "application/json", bytes.NewReader(ask))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var said struct {
		KVs []struct{ Key, Value string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("etcd answers %s, %w", answer.Status, err)
	}
	found := map[string]string{}
	for _, kv := range said.KVs {
		key, err1 := base64.StdEncoding.DecodeString(kv.Key)
		value, err2 := base64.StdEncoding.DecodeString(kv.Value)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("etcd answers %q=%q", kv.Key, kv.Value)
		}
		found[string(key)] = string(value)
	}
	return found, nil
}
