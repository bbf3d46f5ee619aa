// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric/child"
)

// A loginCase has the credentials that a client shows a server. user nil: no username, and no password.
type loginCase struct {
	name        string
	certificate bool
	user        *[2]string // and password
}

var (
	nothing       = loginCase{name: "nothing"}
	certified     = loginCase{name: "a certificate", certificate: true}
	empty         = loginCase{name: "empty username and password", user: &[2]string{"", ""}}
	emptyPassword = loginCase{name: "a username, an empty password", user: &[2]string{"alice", ""}}
	right         = loginCase{name: "the right password", user: &[2]string{"alice", "ecila"}}
	wrong         = loginCase{name: "a wrong password", user: &[2]string{"alice", "alice"}}
)

// with is a login with a certificate, too.
func (l loginCase) with(certificate loginCase) loginCase {
	return loginCase{certificate.name + ", " + l.name, true, l.user}
}

// outcome is a verdict of the matrix.
type outcome string

const (
	accepted        outcome = "accepted"
	unauthenticated outcome = "UNAUTHENTICATED"
	unconnected     outcome = "no connection" // TLS refuses the client
)

// matrix has the verdict of each login at each kind of server, which is that of all RPCs and modes.
// Right passwords are before wrong ones, which are bounded.
var matrix = []struct {
	server string
	login  loginCase
	want   outcome
}{
	{"certificates", certified, accepted},
	{"certificates", empty.with(certified), accepted},
	{"certificates", emptyPassword.with(certified), accepted}, // it is the certificate's
	{"certificates", wrong.with(certified), unauthenticated},
	{"certificates", nothing, unconnected},
	{"certificates", right, unconnected},
	{"users", right, accepted},
	{"users", nothing, unauthenticated},
	{"users", empty, unauthenticated},
	{"users", emptyPassword, unauthenticated},
	{"users", wrong, unauthenticated},
	{"loopback", nothing, accepted},
	{"loopback", empty, accepted},
	{"loopback", emptyPassword, unauthenticated},
	{"loopback", wrong, unauthenticated},
}

// A real is a program of another make. args are those of an RPC or mode, tls those by which it connects;
// it gives a login by command, false: it cannot.
type real struct {
	program string
	modes   map[string][]string
	command func(program string, to target, l loginCase, mode []string) (*exec.Cmd, bool)
}

// A target is a server, and files of a client's.
type target struct {
	address, ca, certificate, key string
	plain                         bool
	want                          outcome
}

// gnmiCLI is OpenConfig's client. It takes no empty username, and an empty password at a terminal alone.
var gnmiCLI = real{
	program: "gnmi_cli",
	modes: map[string][]string{
		"Capabilities": {"-capabilities"},
		"Get":          {"-get", "-proto", labelPath},
		"Set":          {"-set", "-proto", `update:<` + labelPath + ` val:<string_val:"crc32">>`},
		"ONCE":         {"-query", label, "-query_type", "once"},
		"POLL":         {"-query", label, "-query_type", "polling", "-polling_interval", "100ms"},
		"STREAM":       {"-query", label, "-query_type", "streaming"},
	},
	command: func(program string, to target, l loginCase, mode []string) (*exec.Cmd, bool) {
		args := append([]string{"-address", to.address, "-ca_crt", to.ca}, mode...)
		if to.plain {
			args = append([]string{"-address", to.address, "-insecure"}, mode...)
		}
		if to.want == unconnected {
			args = append(args, "-timeout", "1s") // it tries for so long
		}
		if l.certificate {
			args = append(args, "-client_crt", to.certificate, "-client_key", to.key)
		}
		switch {
		case l.user == nil:
			return exec.Command(program, args...), true
		case l.user[0] == "":
			return nil, false
		}
		args = append(args, "-with_user_pass")
		if l.user[1] != "" {
			cmd := exec.Command(program, args...)
			cmd.Env = append(os.Environ(), "GNMI_USER="+l.user[0], "GNMI_PASS="+l.user[1])
			return cmd, true
		}
		words := []string{program}
		for _, a := range args {
			words = append(words, "'"+a+"'")
		}
		cmd := exec.Command("script", "-qec", strings.Join(words, " "), "/dev/null") // at a terminal
		cmd.Stdin = strings.NewReader(l.user[0] + "\n" + l.user[1] + "\n")
		return cmd, true
	},
}

// gnmic sends an empty username and password where it is given none. Before a POLL it asks at
// a terminal for what: that is left out. Of a refused subscription it writes into its log alone.
var gnmic = real{
	program: "gnmic",
	modes: map[string][]string{
		"Capabilities": {"capabilities"},
		"Get":          {"get", "--path", label},
		"Set":          {"set", "--update-path", label + "/algorithm", "--update-value", "crc32"},
		"ONCE":         {"subscribe", "--path", label, "--mode", "once", "--log"},
		"STREAM":       {"subscribe", "--path", label, "--mode", "stream", "--stream-mode", "on-change", "--log"},
	},
	command: func(program string, to target, l loginCase, mode []string) (*exec.Cmd, bool) {
		args := append([]string{"-a", to.address, "--encoding", "json_ietf", "--tls-ca", to.ca}, mode...)
		if to.plain {
			args = append([]string{"-a", to.address, "--encoding", "json_ietf", "--insecure"}, mode...)
		}
		if to.want == unconnected {
			args = append(args, "--timeout", "1s")
		}
		if l.certificate {
			args = append(args, "--tls-cert", to.certificate, "--tls-key", to.key)
		}
		if l.user != nil {
			args = append(args, "--username", l.user[0], "--password", l.user[1])
		}
		return exec.Command(program, args...), true
	},
}

const labelPath = `path:<elem:<name:"sonic-sluice"> elem:<name:"SLUICE_FLOW_LABEL"> elem:<name:"global"> elem:<name:"algorithm">>`

// TestLoginsOfRealClients: gnmi_cli with a certificate, without, with empty, wrong and right passwords is
// accepted or refused alike by all RPCs and modes.
func TestLoginsOfRealClients(t *testing.T) {
	t.Parallel()
	clients, err := buildClients()
	if err != nil {
		t.Fatal(err)
	}
	gnmiCLI.logIn(t, clients)
}

// TestLoginsOfGnmic is the same of gnmic.
func TestLoginsOfGnmic(t *testing.T) {
	soakOnly(t) // gnmic has 1400 packages
	folder := t.TempDir()
	if out, err := exec.Command("go", "build", "-C", "../../tools/gnmic", "-o", folder+"/", "github.com/openconfig/gnmic").CombinedOutput(); err != nil {
		t.Fatalf("build gnmic: %v\n%s", err, out)
	}
	release, _, _ := strings.Cut(strings.TrimPrefix(runtime.Version(), "go1."), ".")
	t.Setenv("ASSUME_NO_MOVING_GC_UNSAFE_RISK_IT_WITH", "go1."+release) // a library of its asks for that word
	gnmic.logIn(t, folder)
}

// logIn tries all cells of the matrix, with the client in a folder.
func (r real) logIn(t *testing.T, folder string) {
	certificates, ca, _ := mutual(t)
	users, usersCA := secure(t)
	loopback := start(t, "--insecure-loopback", "127.0.0.1:0")
	alice := func(ca *authority) (string, string) { return ca.file("alice.pem"), ca.file("alice.key") }
	targets := map[string]target{
		"certificates": {address: certificates.address(), ca: ca.file("ca.pem")},
		"users":        {address: users.address(), ca: usersCA.file("ca.pem")},
		"loopback":     {address: loopback.address(), plain: true},
	}
	for _, tt := range matrix {
		to := targets[tt.server]
		to.certificate, to.key = alice(ca)
		to.want = tt.want
		t.Run(tt.server+"/"+tt.login.name, func(t *testing.T) {
			var all sync.WaitGroup
			for mode, args := range r.modes {
				cmd, can := r.command(filepath.Join(folder, r.program), to, tt.login, args)
				if !can {
					t.Logf("%s: %s cannot", mode, r.program)
					continue
				}
				all.Go(func() {
					if is, out := verdictOf(t, cmd); is != tt.want {
						t.Errorf("%s: %s, want %s\n%s", mode, is, tt.want, out)
					}
				})
			}
			all.Wait()
		})
	}
}

// signs are what clients print of a verdict, the first one that is found.
var signs = []struct {
	is   outcome
	text *regexp.Regexp
}{
	{unauthenticated, regexp.MustCompile(`Unauthenticated|\): EOF`)}, // gnmi_cli hides the status of an RPC that ends before it has subscribed
	{unconnected, regexp.MustCompile(`Dialer\(|certificate required|handshake failed|failed to create a gRPC client|deadline exceeded`)},
	{accepted, regexp.MustCompile(`sonic-sluice-state|draft-literal|crc32|UPDATE`)},
}

// verdictOf runs a client until it prints a verdict, or ends.
func verdictOf(t *testing.T, cmd *exec.Cmd) (is outcome, out string) {
	text := &logbook{}
	read, write, err := os.Pipe()
	if err != nil {
		t.Error(err)
		return "", ""
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := child.Start(cmd); err != nil {
		t.Error(err)
		return "", ""
	}
	_ = write.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		part := make([]byte, 4096)
		for {
			n, err := read.Read(part)
			text.add(string(part[:n]))
			if err != nil {
				return
			}
		}
	}()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(patience); is == "" && time.Now().Before(deadline); {
		last := false
		select {
		case <-ended:
			last = true
		case <-look.C:
		}
		for _, s := range signs {
			if is == "" && s.text.MatchString(text.text()) {
				is = s.is
			}
		}
		if last {
			break
		}
	}
	_ = cmd.Process.Kill() // streams go on
	_ = cmd.Wait()
	_ = read.Close()
	<-ended
	return is, text.text()
}
