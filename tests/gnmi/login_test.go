// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// from returns a client that comes from 127.0.0.n.
func (s *server) from(ca *authority, n byte) gpb.GNMIClient {
	return s.dial(s.address(), grpc.WithTransportCredentials(credentials.NewTLS(ca.trust())), grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, n)}}).DialContext(ctx, "tcp", to)
	}))
}

// After ten wrong passwords of a user, or from an address, no more are checked for a
// while; a user who has logged in from an address before still can.
func TestLoginLimit(t *testing.T) {
	s, ca := secure(t)
	ctx := limited(t)
	address := byte(100)
	fresh := func() gpb.GNMIClient { address++; return s.from(ca, address) }
	login := func(c gpb.GNMIClient, name, password string) string {
		t.Helper()
		err := capabilities(as(ctx, name, password), c)
		if err != nil {
			fails(t, name, err, codes.Unauthenticated)
		}
		return status.Convert(err).Message()
	}
	const limit, wrong = "too many wrong passwords for this user or from this address", "user or password is wrong"
	// refused sends guesses until no more are checked, of which there must be ten, and
	// then a login, which must be refused, too. Where a guess becomes free in between,
	// since this machine is slow, all of it is done again.
	refused := func(what string, guess, try func() string) {
		t.Helper()
		n := 0
		for {
			began := time.Now()
			says := guess()
			if says == wrong {
				n++
				continue
			}
			if !strings.Contains(says, limit) || n < 10 {
				t.Fatalf("%s: guess %d: %s", what, n+1, says)
			}
			if says = try(); strings.Contains(says, limit) {
				return
			}
			if time.Since(began) < time.Second {
				t.Fatalf("%s: %q", what, says)
			}
		}
	}
	is(t, "alice at home", login(s.from(ca, 2), "alice", "ecila"), "")
	refused("the right password from elsewhere",
		func() string { return login(fresh(), "alice", "guess") },
		func() string { return login(fresh(), "alice", "ecila") })
	is(t, "alice at home", login(s.from(ca, 2), "alice", "ecila"), "")
	is(t, "bob", login(s.from(ca, 3), "bob", "bob"), "")
	guesses, tries := 0, 0
	refused("another user from where guesses came from",
		func() string { guesses++; return login(s.from(ca, 4), strings.Repeat("x", guesses), "guess") },
		func() string { // not twice of one user, who would be known there then
			if tries++; tries == 1 {
				return login(s.from(ca, 4), "bob", "bob")
			}
			return login(s.from(ca, 4), "alice", "ecila")
		})
	is(t, "bob from where he was", login(s.from(ca, 3), "bob", "bob"), "")
}

// While 400 RPCs with wrong passwords are under way, users log in.
func TestLoginBesideHostileLogins(t *testing.T) {
	soakOnly(t)
	s, ca := secure(t)
	ctx, stop := context.WithCancel(t.Context())
	var guesses sync.WaitGroup
	t.Cleanup(func() { stop(); guesses.Wait() })
	for n := range byte(4) {
		c := s.from(ca, 20+n)
		for range 100 {
			guesses.Go(func() {
				for ctx.Err() == nil {
					_ = capabilities(as(ctx, "bob", "guess"), c)
				}
			})
		}
	}
	s.eventually("guesses are refused", func() bool { return s.log.find("too many wrong passwords") != nil })
	began := time.Now()
	fails(t, "alice", capabilities(as(limited(t), "alice", "ecila"), s.from(ca, 2)), codes.OK)
	t.Logf("alice's login took %v", time.Since(began).Round(time.Millisecond))
	before := s.cpu()
	succeed(t, "logins", 20, func(context.Context) error { return capabilities(as(limited(t), "alice", "ecila"), s.from(ca, 2)) })
	t.Logf("the server has used %v of CPU beside them", s.cpu()-before)
}

// What a user may no longer see ends within seconds, on streams that are open, too;
// others' streams go on.
func TestLoginRevocationReachesStreams(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.json")
	write := func(rules string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(`{"groups":{"ops":["alice","bob"]},"rules":[`+rules+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	const all = `{"group":"ops","path":"/","mode":"read","action":"permit"}`
	const gone = `{"user":"bob","path":"/","mode":"read","action":"deny"}`
	const less = `{"user":"bob","path":"/sonic-sluice/SLUICE_THRESHOLD","mode":"read","action":"deny"}`
	for name, tt := range map[string]struct {
		revoke func(ca *authority, alice string) // alice is her line of the file of users, which stays as it is
		want   codes.Code
	}{
		"a user that is removed": {func(ca *authority, alice string) { ca.write("users", []byte(alice)) }, codes.Unauthenticated},
		"a password that is changed": {func(ca *authority, alice string) {
			ca.write("users", []byte(alice+hashed(t, "bob", "new")+"\n"))
		}, codes.Unauthenticated},
		"a policy that allows nothing": {func(*authority, string) { write(all + "," + gone) }, codes.PermissionDenied},
		"a policy that allows less":    {func(*authority, string) { write(all + "," + less) }, codes.Aborted},
	} {
		t.Run(name, func(t *testing.T) {
			write(all)
			s, ca := secure(t, "--policy", file)
			c := s.tls(ca.trust())
			text, err := os.ReadFile(ca.file("users"))
			if err != nil {
				t.Fatal(err)
			}
			var ofAlice string
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "alice:") {
					ofAlice = line
				}
			}
			open := func(name, password string, mode gpb.SubscriptionList_Mode) *stream {
				rpc, err := c.Subscribe(as(limited(t), name, password))
				if err == nil {
					err = rpc.Send(list(mode, on(label, gpb.SubscriptionMode_ON_CHANGE)))
				}
				if err != nil {
					t.Fatal(err)
				}
				st := &stream{s: s, rpc: rpc}
				st.initial()
				return st
			}
			alice, bob, poll := open("alice", "ecila", gpb.SubscriptionList_STREAM), open("bob", "bob", gpb.SubscriptionList_STREAM), open("bob", "bob", gpb.SubscriptionList_POLL)
			began := time.Now()
			tt.revoke(ca, ofAlice)
			fails(t, "bob's stream", bob.fails(), tt.want)
			t.Logf("it ended after %v", time.Since(began).Round(time.Millisecond))
			fails(t, "bob's polls", poll.fails(), tt.want)
			s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
			alice.until(map[string]string{label + "/algorithm": "crc32"})
			s.eventually("it is counted", func() bool { return s.stat("streams_revoked") == 2 })
		})
	}
}

// A CA that is replaced ends the streams of clients whose certificates it has not
// signed, and lets no further RPC of theirs in on a connection that is open.
func TestReplacedCAEndsStreamsOfItsClients(t *testing.T) {
	t.Parallel()
	s, ca, alice := mutual(t)
	c := s.tls(ca.trust(alice))
	st := s.subscribeWith(c, list(gpb.SubscriptionList_STREAM, on(label, gpb.SubscriptionMode_ON_CHANGE)))
	st.initial()
	other := newAuthority(t, t.TempDir(), "other")
	text, err := os.ReadFile(other.file("other.pem"))
	if err != nil {
		t.Fatal(err)
	}
	ca.write("ca.pem", text)
	fails(t, "the stream", st.fails(), codes.Unauthenticated)
	fails(t, "an RPC", capabilities(limited(t), c), codes.Unauthenticated)
}

// The log names what a commit extension does.
func TestLogNamesWhatACommitDoes(t *testing.T) {
	s := start(t)
	_, err := s.set(algorithm("crc32", commitOf("a", time.Hour)))
	fails(t, "commit", err, codes.OK)
	s.mustSet(&gpb.SetRequest{Extension: extend("a", time.Hour)})
	s.mustSet(&gpb.SetRequest{Extension: confirm("a")})
	_, err = s.set(algorithm("draft-literal", commitOf("b", time.Hour)))
	fails(t, "commit", err, codes.OK)
	_, err = s.set(&gpb.SetRequest{Extension: confirm("c")})
	fails(t, "another id", err, codes.InvalidArgument)
	s.mustSet(&gpb.SetRequest{Extension: cancel("b")})
	for _, want := range []string{
		`msg="set, to be confirmed" user=local peer=unix:@ operations="update /sonic-sluice/SLUICE_FLOW_LABEL/global/algorithm" rows=1 commit=a`,
		`msg="commit extended" user=local peer=unix:@ operations="" rows=0 commit=a`,
		`msg="commit confirmed" user=local peer=unix:@ operations="" rows=0 commit=a`,
		`msg="commit canceled" user=local peer=unix:@ operations="" rows=0 commit=b`,
		`msg="set refused" .* commit=c "?asked for"?="commit confirmed"`,
	} {
		s.eventually(want, func() bool { return s.log.find(want) != nil })
	}
	if line := s.log.find("msg=set "); line != nil {
		t.Errorf("a commit is said as a set: %s", line)
	}
}

// A client's certificate that expires ends its streams, and lets no further RPC in on a
// connection that is open.
func TestExpiredCertificateEndsStreams(t *testing.T) {
	t.Parallel()
	s, ca, _ := mutual(t)
	for life := 4 * time.Second; ; life *= 2 { // as long as a busy machine needs to connect
		c := s.tls(ca.trust(ca.leafUntil("alice", time.Now().Add(life))))
		if capabilities(limited(t), c) != nil {
			continue
		}
		st := s.subscribeWith(c, list(gpb.SubscriptionList_STREAM, on(label, gpb.SubscriptionMode_ON_CHANGE)))
		if err := st.fails(); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "expired") {
			t.Errorf("the stream: %v", err)
		}
		fails(t, "an RPC", capabilities(limited(t), c), codes.Unauthenticated)
		return
	}
}

// A certificate that is replaced before its key is not used until the key fits; connections
// are accepted with the former pair meanwhile.
func TestServerCertificateIsReplacedInTwoSteps(t *testing.T) {
	t.Parallel()
	s, ca, alice := mutual(t)
	former, err := os.ReadFile(ca.file("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca.leaf("next")
	text, err := os.ReadFile(ca.file("next.pem"))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() string {
		var serial string
		own := ca.trust(alice)
		own.VerifyConnection = func(state tls.ConnectionState) error {
			serial = state.PeerCertificates[0].SerialNumber.String()
			return nil
		}
		fails(t, "an RPC", capabilities(limited(t), s.tls(own)), codes.OK)
		return serial
	}
	before := serial()
	ca.write("server.pem", text)
	if now := serial(); now != before {
		t.Errorf("a certificate without its key is in use: %s", now)
	}
	if text, err = os.ReadFile(ca.file("next.key")); err != nil || bytes.Equal(text, former) {
		t.Fatalf("the next key is the former: %v", err)
	}
	ca.write("server.key", text)
	if now := serial(); now == before {
		t.Error("the next certificate is not in use")
	}
}
