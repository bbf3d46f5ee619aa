// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/orchagent-ext/flow"
)

func TestConfig(t *testing.T) {
	a := newAuthority(t, "domain")
	cert, key := a.issue("switch")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	http, https := []string{"http://10.0.0.1:2379", "http://[2001:db8::1]:2379"}, []string{"https://etcd.example:2379"}
	for name, test := range map[string]struct {
		config Config
		want   string // "": accepted
	}{
		"http":               {Config{Endpoints: http}, ""},
		"https":              {Config{Endpoints: https, CAFile: a.file}, ""},
		"our certificate":    {Config{Endpoints: https, CAFile: a.file, CertFile: cert, KeyFile: key}, ""},
		"user":               {Config{Endpoints: https, CAFile: a.file, User: "switch", Password: "x"}, ""},
		"domain":             {Config{Endpoints: http, Domain: "pod-7.example_1"}, ""},
		"no endpoint":        {Config{}, "no endpoint of etcd: one at least is needed, like http://10.0.0.1:2379"},
		"no port":            {Config{Endpoints: []string{"http://a"}}, "endpoint of etcd: not http://HOST:PORT or https://HOST:PORT: http://a"},
		"no scheme":          {Config{Endpoints: []string{"10.0.0.1:2379"}}, "not http://HOST:PORT"},
		"a path":             {Config{Endpoints: []string{"http://a:1/v3"}}, "not http://HOST:PORT"},
		"a password":         {Config{Endpoints: []string{"http://switch:secret@a:1"}}, "not http://HOST:PORT or https://HOST:PORT: …@a:1"},
		"a password, no URL": {Config{Endpoints: []string{"http://switch:secret@a:b%"}}, "HOST:PORT: …@a:b%"},
		"both schemes":       {Config{Endpoints: append(https, http...)}, "all are http, or all are https"},
		"http and a CA":      {Config{Endpoints: http, CAFile: a.file}, "certificates need https"},
		"https and no CA":    {Config{Endpoints: https}, "a CA file is needed"},
		"no CA file":         {Config{Endpoints: https, CAFile: "/nowhere/ca.pem"}, "open /nowhere/ca.pem: no such file"},
		"empty CA file":      {Config{Endpoints: https, CAFile: empty}, "holds no certificate in PEM"},
		"no key":             {Config{Endpoints: https, CAFile: a.file, CertFile: cert}, `and key file "" for etcd`},
		"not its key":        {Config{Endpoints: https, CAFile: a.file, CertFile: a.file, KeyFile: key}, "private key does not match"},
		"no password":        {Config{Endpoints: http, User: "switch"}, "user and password of etcd go together"},
		"password file":      {Config{Endpoints: https, CAFile: a.file, User: "switch", PasswordFile: password}, ""},
		"plain text":         {Config{Endpoints: http, User: "switch", PasswordFile: password}, "the password would travel in plain text: use https, or allow it with etcd_allow_plaintext=true"},
		"plain text allowed": {Config{Endpoints: http, User: "switch", PasswordFile: password, PlaintextPassword: true}, ""},
		"no password file":   {Config{Endpoints: http, User: "switch", PasswordFile: "/nowhere/password", PlaintextPassword: true}, "open /nowhere/password: no such file"},
		"empty password":     {Config{Endpoints: http, User: "switch", PasswordFile: empty, PlaintextPassword: true}, "its first line is empty"},
		"password, no user":  {Config{Endpoints: http, PasswordFile: password}, "user and password of etcd go together"},
		"a domain of two":    {Config{Endpoints: http, Domain: "a/b"}, `domain "a/b": letters, digits, '.', '_' and '-' are allowed`},
		"no such classes":    {Config{Endpoints: http, Classification: 2}, "classification 2: 0 (flow label) and 1 (5-tuple) are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := New(test.config)
			if err == nil {
				var f files
				if f, err = g.config.read(); err == nil {
					_, err = g.config.client(f)
				}
			}
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	c := Config{Password: "correct-horse"}
	inJSON, err := json.Marshal(c.Password)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%s %q", c.Password, c.Password), string(inJSON)} {
		if strings.Contains(s, "horse") {
			t.Error(s)
		}
	}
}

//conformance:draft-yang/by-5-tuple
func TestName(t *testing.T) {
	k := flow.Key{FlowLabel: 0xabc, DestQP: 7, SrcQP: 8, SrcPort: 49152, PKey: 9}
	k.Src, k.Dst = [16]byte{0x20, 1, 15: 1}, [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 2}
	for c, want := range map[Classification]string{
		ByFlowLabel: "2001::1,10.0.0.2,label=0x00abc",
		By5Tuple:    "2001::1,10.0.0.2,port=49152",
	} {
		if got := c.name(&k); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	other := k
	other.DestQP, other.SrcQP, other.PKey = 1, 2, 3
	for _, c := range []Classification{ByFlowLabel, By5Tuple} {
		if c.name(&k) != c.name(&other) || c.first(5, &k) != c.first(5, &other) {
			t.Errorf("classification %d: queue pairs tell flows apart", c)
		}
	}
	if got, want := ByFlowLabel.first(5, &k), flow.HashStreamID(5, k.Src, k.Dst, k.FlowLabel); got != want {
		t.Errorf("the first id is %d, want %d as in scope hash", got, want)
	}
}
