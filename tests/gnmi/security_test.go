// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sluice/orchagent-ext/host/login"
)

// secure starts a server with TLS, a CA for clients and users alice and bob, whose
// passwords are their names backwards.
func secure(t *testing.T, flags ...string) (*server, *authority) {
	t.Helper()
	dir := t.TempDir()
	ca := newAuthority(t, dir, "ca")
	ca.leaf("server")
	ca.write("users", []byte("# users\n"+hashed(t, "alice", "ecila")+"\n"+hashed(t, "bob", "bob")+"\n"))
	return start(t, append([]string{
		"--listen", "127.0.0.1:0", "--cert", ca.file("server.pem"), "--key", ca.file("server.key"), "--users", ca.file("users"),
	}, flags...)...), ca
}

func hashed(t *testing.T, name, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), login.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return name + ":" + string(hash)
}

// address returns where the server listens by TCP.
func (s *server) address() string {
	s.t.Helper()
	var m []string
	s.eventually("the server listens", func() bool {
		m = s.log.find(`msg="listening (?:with TLS|in plain text)" address=(\S+)`)
		return m != nil
	})
	return m[1]
}

func (s *server) tls(c *tls.Config) gpb.GNMIClient {
	return s.dial(s.address(), grpc.WithTransportCredentials(credentials.NewTLS(c)))
}

func capabilities(ctx context.Context, c gpb.GNMIClient) error {
	_, err := c.Capabilities(ctx, &gpb.CapabilityRequest{})
	return err
}

func as(ctx context.Context, name, password string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "username", name, "password", password)
}

func TestSessionsAreSecure(t *testing.T) {
	s, ca := secure(t)
	ctx := limited(t)
	c := s.tls(ca.trust())
	t.Run("3.1 sessions are encrypted: plain text is refused", func(t *testing.T) {
		fails(t, "plain text", capabilities(as(ctx, "alice", "ecila"), s.dial(s.address(), insecureOption)), codes.Unavailable)
	})
	t.Run("3.1 TLS before 1.2 is refused", func(t *testing.T) {
		old := ca.trust()
		old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		if conn, err := tls.Dial("tcp", s.address(), old); err == nil {
			_ = conn.Close()
			t.Error("TLS 1.1 is taken")
		}
	})
	t.Run("3.1 the right password is taken, again and again", func(t *testing.T) {
		for range 3 {
			fails(t, "alice", capabilities(as(ctx, "alice", "ecila"), c), codes.OK)
		}
	})
	t.Run("3.4.7 authentication that fails is UNAUTHENTICATED, on every RPC", func(t *testing.T) {
		for what, ctx := range map[string]context.Context{
			"wrong password": as(ctx, "alice", "alice"), "unknown user": as(ctx, "carol", "lorac"), "no password": metadata.AppendToOutgoingContext(ctx, "username", "alice"),
			"nothing": ctx, "another's password": as(ctx, "bob", "ecila"), "empty": as(ctx, "", ""), "two": as(as(ctx, "alice", "ecila"), "alice", "x"),
		} {
			fails(t, what, capabilities(ctx, c), codes.Unauthenticated)
			_, err := c.Get(ctx, &gpb.GetRequest{})
			fails(t, what, err, codes.Unauthenticated)
			_, err = c.Set(ctx, &gpb.SetRequest{})
			fails(t, what, err, codes.Unauthenticated)
			st, err := c.Subscribe(ctx)
			if err == nil {
				_, err = st.Recv()
			}
			fails(t, what, err, codes.Unauthenticated)
		}
	})
	t.Run("3.1 a password that is given is looked at on the socket, too", func(t *testing.T) {
		fails(t, "wrong", capabilities(as(ctx, "alice", "alice"), s.client()), codes.Unauthenticated)
		fails(t, "right", capabilities(as(ctx, "alice", "ecila"), s.client()), codes.OK)
		fails(t, "none", capabilities(ctx, s.client()), codes.OK)
	})
	t.Run("users are read again when the file changes", func(t *testing.T) {
		ca.write("users", []byte(hashed(t, "alice", "another password")))
		fails(t, "the old one", capabilities(as(ctx, "alice", "ecila"), c), codes.Unauthenticated)
		fails(t, "the new one", capabilities(as(ctx, "alice", "another password"), c), codes.OK)
		ca.write("users", []byte("alice without a hash"))
		fails(t, "a broken file", capabilities(as(ctx, "alice", "another password"), c), codes.OK)
		s.eventually("the log names the broken file", func() bool { return s.log.find("a changed file is invalid") != nil })
	})
}

// TestEmptyCredentialsAreNone: a client that sends its username and password empty, as gnmic does
// without a login, is judged by its certificate, or by the socket or loopback alone.
func TestEmptyCredentialsAreNone(t *testing.T) {
	s, ca, alice := mutual(t)
	plain := start(t, "--insecure-loopback", "127.0.0.1:0")
	users, usersCA := secure(t)
	ctx := limited(t)
	md := func(pairs ...string) context.Context { return metadata.AppendToOutgoingContext(ctx, pairs...) }
	byCertificate := func() gpb.GNMIClient { return s.tls(ca.trust(alice)) }
	byTCP := func() gpb.GNMIClient { return plain.dial(plain.address(), insecureOption) }
	byPassword := func() gpb.GNMIClient { return users.tls(usersCA.trust()) }
	for _, tt := range []struct {
		what   string
		client func() gpb.GNMIClient
		as     context.Context
		want   codes.Code
	}{
		{"a certificate", byCertificate, md("username", "", "password", ""), codes.OK},
		{"a certificate, no username", byCertificate, md("password", ""), codes.OK},
		{"a certificate with its username", byCertificate, md("username", "alice", "password", ""), codes.OK},
		{"a certificate with another username", byCertificate, md("username", "bob", "password", ""), codes.Unauthenticated},
		{"a certificate and a password", byCertificate, md("username", "alice", "password", "x"), codes.Unauthenticated},
		{"loopback", byTCP, md("username", "", "password", ""), codes.OK},
		{"loopback, no password", byTCP, md("username", ""), codes.OK},
		{"a socket", plain.client, md("username", "", "password", ""), codes.OK},
		{"neither a certificate nor a password", byPassword, md("username", "", "password", ""), codes.Unauthenticated},
		{"a username without its password", byPassword, md("username", "alice", "password", ""), codes.Unauthenticated},
		{"a password without a username", byPassword, md("username", "", "password", "ecila"), codes.Unauthenticated},
		{"a wrong password", byPassword, md("username", "alice", "password", "alice"), codes.Unauthenticated},
		{"the right password", byPassword, md("username", "alice", "password", "ecila"), codes.OK},
	} {
		client := tt.client()
		fails(t, tt.what+": Capabilities", capabilities(tt.as, client), tt.want)
		_, err := client.Get(tt.as, &gpb.GetRequest{Path: []*gpb.Path{path(label)}})
		fails(t, tt.what+": Get", err, tt.want)
		_, err = client.Set(tt.as, algorithm("crc32", nil))
		fails(t, tt.what+": Set", err, tt.want)
		for _, mode := range []gpb.SubscriptionList_Mode{gpb.SubscriptionList_ONCE, gpb.SubscriptionList_POLL, gpb.SubscriptionList_STREAM} {
			rpc, err := client.Subscribe(tt.as)
			if err == nil {
				err = rpc.Send(list(mode, on(label, gpb.SubscriptionMode_ON_CHANGE)))
			}
			if err == nil && mode == gpb.SubscriptionList_POLL {
				err = rpc.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Poll{Poll: &gpb.Poll{}}})
			}
			if err == nil || tt.want != codes.OK {
				_, err = rpc.Recv()
			}
			fails(t, tt.what+": "+mode.String(), err, tt.want)
		}
	}
}

func TestMutualTLS(t *testing.T) {
	dir := t.TempDir()
	ca, other := newAuthority(t, dir, "ca"), newAuthority(t, dir, "other")
	ca.leaf("server")
	alice, mallory := ca.leaf("alice"), other.leaf("mallory")
	s := start(t, "--listen", "127.0.0.1:0", "--cert", ca.file("server.pem"), "--key", ca.file("server.key"), "--ca", ca.file("ca.pem"))
	ctx := limited(t)

	fails(t, "3.1 a certificate of the CA", capabilities(ctx, s.tls(ca.trust(alice))), codes.OK)
	fails(t, "3.1 no certificate", capabilities(ctx, s.tls(ca.trust())), codes.Unavailable)
	fails(t, "3.1 a certificate of another CA", capabilities(ctx, s.tls(ca.trust(mallory))), codes.Unavailable)
	fails(t, "a username that is not the certificate's", capabilities(metadata.AppendToOutgoingContext(ctx, "username", "root"), s.tls(ca.trust(alice))), codes.Unauthenticated)
	fails(t, "the certificate's username", capabilities(metadata.AppendToOutgoingContext(ctx, "username", "alice"), s.tls(ca.trust(alice))), codes.OK)

	_, err := s.tls(ca.trust(alice)).Set(ctx, algorithm("crc32", nil))
	fails(t, "Set", err, codes.OK)
	s.eventually("a line of the log names alice and what she set", func() bool {
		return s.log.find(`msg=set user=alice peer=tcp:\S+ operations="update /sonic-sluice/SLUICE_FLOW_LABEL/global/algorithm"`) != nil
	})

	// The server gets a certificate of the other CA, and trusts clients of it.
	other.leaf("server")
	text, err := os.ReadFile(other.file("other.pem"))
	if err != nil {
		t.Fatal(err)
	}
	ca.write("ca.pem", text)
	fails(t, "a new certificate and CA", capabilities(ctx, s.tls(other.trust(mallory))), codes.OK)
	fails(t, "the old CA", capabilities(ctx, s.tls(other.trust(alice))), codes.Unavailable)
}

const policy = `{
  "groups": {"ops": ["alice", "bob"]},
  "rules": [
    {"group": "ops", "path": "/", "mode": "read", "action": "permit"},
    {"user": "bob", "path": "/sonic-sluice/SLUICE_THRESHOLD", "mode": "read", "action": "deny"},
    {"user": "alice", "path": "/sonic-sluice", "mode": "write", "action": "permit"},
    {"user": "alice", "path": "/sonic-sluice/SLUICE/global/admin_state", "mode": "write", "action": "deny"},
    {"user": "bob", "path": "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]/high_bytes", "mode": "write", "action": "permit"}
  ]
}`

func TestPolicyBoundsUsers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.json")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	s, ca := secure(t, "--policy", file)
	s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "low_bytes", "3")
	c := s.tls(ca.trust())
	alice, bob := as(limited(t), "alice", "ecila"), as(limited(t), "bob", "bob")
	get := func(ctx context.Context, p *gpb.Path) (map[string]string, error) {
		out, err := c.Get(ctx, &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: gpb.Encoding_PROTO})
		return values(out.GetNotification()...), err
	}
	t.Run("Get", func(t *testing.T) {
		for what, want := range map[string]struct {
			ctx  context.Context
			path *gpb.Path
			code codes.Code
		}{
			"alice":                 {alice, path(thresholds), codes.OK},
			"bob":                   {bob, path(thresholds), codes.PermissionDenied},
			"bob, one leaf":         {bob, path(threshold + "/high_bytes"), codes.PermissionDenied},
			"bob, sonic-db":         {bob, sonic("/CONFIG_DB/localhost/SLUICE_THRESHOLD"), codes.PermissionDenied},
			"bob, not there":        {bob, path("/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=tin]"), codes.PermissionDenied},
			"socket without a user": {limited(t), path(label), codes.Unauthenticated},
		} {
			_, err := get(want.ctx, want.path)
			fails(t, what, err, want.code)
		}
		all, err := get(bob, path("/sonic-sluice"))
		if _, sees := all[threshold+"/high_bytes"]; err != nil || sees || all[label+"/algorithm"] == "" {
			t.Errorf("bob sees %v, %v", all, err)
		}
	})
	t.Run("the socket's user has no rule", func(t *testing.T) {
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{path(label)}})
		fails(t, "Get", err, codes.PermissionDenied)
		_, err = s.set(algorithm("crc32", nil))
		fails(t, "3.4.7 Set", err, codes.PermissionDenied)
		fails(t, "Subscribe", s.subscribe(list(gpb.SubscriptionList_ONCE, on(label, 0))).fails(), codes.PermissionDenied)
	})
	t.Run("Set", func(t *testing.T) {
		high := update(threshold+"/high_bytes", jsonOf("9"))
		low := update(threshold+"/low_bytes", jsonOf("4"))
		for what, want := range map[string]struct {
			ctx  context.Context
			r    *gpb.SetRequest
			code codes.Code
		}{
			"alice, anything":            {alice, &gpb.SetRequest{Update: []*gpb.Update{low}}, codes.OK},
			"alice, what is denied":      {alice, &gpb.SetRequest{Update: []*gpb.Update{low, update("/sonic-sluice/SLUICE/global/admin_state", str("disabled"))}}, codes.PermissionDenied},
			"alice, by way of the table": {alice, &gpb.SetRequest{Update: []*gpb.Update{update("/sonic-sluice", jsonOf(`{"SLUICE":{"global":{"admin_state":"disabled"}}}`))}}, codes.PermissionDenied},
			"alice, by sonic-db":         {alice, &gpb.SetRequest{Update: []*gpb.Update{{Path: sonic("/CONFIG_DB/localhost/SLUICE/global/admin_state"), Val: str("disabled")}}}, codes.PermissionDenied},
			"bob, his leaf":              {bob, &gpb.SetRequest{Update: []*gpb.Update{high}}, codes.OK},
			"bob, another leaf":          {bob, &gpb.SetRequest{Update: []*gpb.Update{high, low}}, codes.PermissionDenied},
			"bob, the row":               {bob, &gpb.SetRequest{Delete: []*gpb.Path{path(threshold)}}, codes.PermissionDenied},
			"bob, the row, replaced":     {bob, &gpb.SetRequest{Replace: []*gpb.Update{update(threshold, jsonOf(`{"name":"gold","high_bytes":9}`))}}, codes.PermissionDenied},
			"bob, elsewhere":             {bob, &gpb.SetRequest{Delete: []*gpb.Path{path(label)}}, codes.PermissionDenied},
		} {
			_, err := c.Set(want.ctx, want.r)
			fails(t, what, err, want.code)
		}
		is(t, "rows", s.rows(), rowsMap{"SLUICE_THRESHOLD|gold": {"high_bytes": "9", "low_bytes": "4"}})
	})
	t.Run("Subscribe", func(t *testing.T) {
		for mode := range gpb.SubscriptionList_Mode_name {
			rpc, err := c.Subscribe(bob)
			if err == nil {
				err = rpc.Send(list(gpb.SubscriptionList_Mode(mode), on(thresholds, gpb.SubscriptionMode_ON_CHANGE)))
			}
			if err == nil {
				_, err = rpc.Recv()
			}
			fails(t, "bob", err, codes.PermissionDenied)
		}
		rpc, err := c.Subscribe(bob)
		if err != nil {
			t.Fatal(err)
		}
		if err := rpc.Send(list(gpb.SubscriptionList_STREAM, on("/sonic-sluice", gpb.SubscriptionMode_ON_CHANGE))); err != nil {
			t.Fatal(err)
		}
		st := &stream{s: s, rpc: rpc}
		for p := range values(st.initial()...) {
			if strings.HasPrefix(p, thresholds) {
				t.Errorf("bob sees %s", p)
			}
		}
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "10")
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
		is(t, "change", values(st.until(map[string]string{label + "/algorithm": "crc32"})...), map[string]string{label + "/algorithm": "crc32"})
	})
}

// Commits are of those who may write what they wrote.
func TestPolicyOfCommits(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	s, ca := secure(t, "--policy", file)
	c := s.tls(ca.trust())
	alice, bob := as(limited(t), "alice", "ecila"), as(limited(t), "bob", "bob")
	set := func(ctx context.Context, e []*gnmi_ext.Extension) error {
		_, err := c.Set(ctx, &gpb.SetRequest{Extension: e})
		return err
	}
	_, err := s.set(&gpb.SetRequest{Extension: commitOf("a", time.Hour)})
	fails(t, "who may write nothing begins a commit of nothing", err, codes.PermissionDenied)
	_, err = c.Set(alice, algorithm("crc32", commitOf("a", time.Hour)))
	fails(t, "alice's commit", err, codes.OK)
	for what, e := range map[string][]*gnmi_ext.Extension{"confirm": confirm("a"), "cancel": cancel("a"), "set_rollback_duration": extend("a", time.Second)} {
		fails(t, "bob, "+what, set(bob, e), codes.PermissionDenied)
		_, err := s.set(&gpb.SetRequest{Extension: e})
		fails(t, "the socket's user, "+what, err, codes.PermissionDenied)
	}
	is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32"}})
	fails(t, "alice, set_rollback_duration", set(alice, extend("a", time.Hour)), codes.OK)
	fails(t, "alice, cancel", set(alice, cancel("a")), codes.OK)
	is(t, "rows", s.rows(), rowsMap{})
	_, err = c.Set(bob, &gpb.SetRequest{Extension: commitOf("b", time.Hour)})
	fails(t, "bob, who may write something, begins one of nothing", err, codes.OK)
	fails(t, "and confirms it", set(bob, confirm("b")), codes.OK)
}

func TestLimitsHold(t *testing.T) {
	s := start(t, "--max-message", "1000", "--max-streams", "2", "--max-sessions", "3")
	ctx := limited(t)
	one := s.client()
	_, err := one.Set(ctx, &gpb.SetRequest{Update: []*gpb.Update{update(label+"/algorithm", str(strings.Repeat("x", 2000)))}})
	fails(t, "a long message", err, codes.ResourceExhausted)
	for range 2 {
		s.subscribeWith(one, list(gpb.SubscriptionList_STREAM, on(label, gpb.SubscriptionMode_ON_CHANGE))).initial()
	}
	fails(t, "a third stream", s.subscribeWith(one, list(gpb.SubscriptionList_STREAM, on(label, gpb.SubscriptionMode_ON_CHANGE))).fails(), codes.ResourceExhausted)
	for range 2 {
		fails(t, "a connection", capabilities(ctx, s.client()), codes.OK)
	}
	fails(t, "a fourth connection", capabilities(ctx, s.client()), codes.Unavailable)
	fails(t, "the first connection", capabilities(ctx, one), codes.OK)
}

func TestBadFlagsAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		flags []string
		says  string
	}{
		"plain text elsewhere":      {[]string{"--insecure-loopback", "0.0.0.0:0"}, "must be an address of loopback"},
		"plain text by name":        {[]string{"--insecure-loopback", "localhost:0"}, "must be an address of loopback"},
		"TLS that lets all in":      {[]string{"--cert", "a", "--key", "b"}, "would let every client in"},
		"a certificate, no key":     {[]string{"--cert", "a"}, "go together"},
		"a CA alone":                {[]string{"--ca", "a"}, "--ca needs"},
		"nothing to listen on":      {[]string{"--socket", ""}, "nothing to listen on"},
		"no file of users":          {[]string{"--users", "/nowhere"}, "/nowhere"},
		"no policy":                 {[]string{"--policy", "/nowhere"}, "/nowhere"},
		"a limit of 0":              {[]string{"--max-queue", "0"}, "greater than 0"},
		"something that is no flag": {[]string{"serve"}, "everything is a flag"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			config := filepath.Join(dir, "database_config.json")
			text := `{"INSTANCES":{"redis":{"unix_socket_path":"/nowhere"}},"DATABASES":{"CONFIG_DB":{"id":4,"separator":"|","instance":"redis"},"STATE_DB":{"id":6,"separator":"|","instance":"redis"},"COUNTERS_DB":{"id":2,"separator":":","instance":"redis"}}}`
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			flags := append([]string{"--db-config", config, "--socket", filepath.Join(dir, "s")}, tt.flags...)
			out, err := exec.CommandContext(limited(t), daemon, flags...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), tt.says) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestHealthAndSocket(t *testing.T) {
	t.Parallel()
	s := start(t)
	info, err := os.Stat(s.socket())
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket's rights are %v, %v", info.Mode(), err)
	}
	conn := s.conn("unix:"+s.socket(), insecureOption)
	serving := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		s.eventually("health is "+want.String(), func() bool {
			out, err := healthpb.NewHealthClient(conn).Check(limited(t), &healthpb.HealthCheckRequest{Service: "gnmi.gNMI"})
			return err == nil && out.Status == want
		})
	}
	serving(healthpb.HealthCheckResponse_SERVING)
	s.redis.Kill()
	serving(healthpb.HealthCheckResponse_NOT_SERVING)
	_, err = s.client().Get(limited(t), &gpb.GetRequest{})
	fails(t, "Get without Redis", err, codes.Unavailable)
	_, err = s.set(algorithm("crc32", nil))
	fails(t, "Set without Redis", err, codes.Unavailable)
	if err := s.redis.Restart(true); err != nil {
		t.Fatal(err)
	}
	serving(healthpb.HealthCheckResponse_SERVING)

	err = conn.Invoke(limited(t), "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", &gpb.GetRequest{}, &gpb.GetResponse{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("reflection without its flag: %v", err)
	}
	if _, err := net.Listen("unix", s.socket()); err == nil {
		t.Error("the socket is free")
	}
	s.kill()
	s.run() // over the socket that the killed one has left
	fails(t, "the next server", capabilities(limited(t), s.client()), codes.OK)
}
