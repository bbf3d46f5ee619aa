// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/tests/etcdtest"
)

func TestBadConfigurationsAreRefused(t *testing.T) {
	a := etcdtest.NewAuthority(t, "domain")
	cert, key := a.Issue("switch")
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
		"https":              {Config{Endpoints: https, CAFile: a.File}, ""},
		"our certificate":    {Config{Endpoints: https, CAFile: a.File, CertFile: cert, KeyFile: key}, ""},
		"user":               {Config{Endpoints: https, CAFile: a.File, User: "switch", Password: "x"}, ""},
		"domain":             {Config{Endpoints: http, Domain: "pod-7.example_1"}, ""},
		"no endpoint":        {Config{}, "no endpoint of etcd: one at least is needed, like http://10.0.0.1:2379"},
		"no port":            {Config{Endpoints: []string{"http://a"}}, "endpoint of etcd: not http://HOST:PORT or https://HOST:PORT: http://a"},
		"no scheme":          {Config{Endpoints: []string{"10.0.0.1:2379"}}, "not http://HOST:PORT"},
		"a path":             {Config{Endpoints: []string{"http://a:1/v3"}}, "not http://HOST:PORT"},
		"a password":         {Config{Endpoints: []string{"http://switch:secret@a:1"}}, "not http://HOST:PORT or https://HOST:PORT: …@a:1"},
		"a password, no URL": {Config{Endpoints: []string{"http://switch:secret@a:b%"}}, "HOST:PORT: …@a:b%"},
		"both schemes":       {Config{Endpoints: append(https, http...)}, "all are http, or all are https"},
		"http and a CA":      {Config{Endpoints: http, CAFile: a.File}, "certificates need https"},
		"https and no CA":    {Config{Endpoints: https}, "a CA file is needed"},
		"no CA file":         {Config{Endpoints: https, CAFile: "/nowhere/ca.pem"}, "open /nowhere/ca.pem: no such file"},
		"empty CA file":      {Config{Endpoints: https, CAFile: empty}, "holds no certificate in PEM"},
		"no key":             {Config{Endpoints: https, CAFile: a.File, CertFile: cert}, `and key file "" for etcd`},
		"not its key":        {Config{Endpoints: https, CAFile: a.File, CertFile: a.File, KeyFile: key}, "private key does not match"},
		"no password":        {Config{Endpoints: http, User: "switch"}, "user and password of etcd go together"},
		"password file":      {Config{Endpoints: https, CAFile: a.File, User: "switch", PasswordFile: password}, ""},
		"plain text":         {Config{Endpoints: http, User: "switch", PasswordFile: password}, "the password would travel in plain text: use https, or start sluiced with --etcd-allow-plaintext"},
		"plain text allowed": {Config{Endpoints: http, User: "switch", PasswordFile: password, PlaintextPassword: true}, ""},
		"no password file":   {Config{Endpoints: http, User: "switch", PasswordFile: "/nowhere/password", PlaintextPassword: true}, "open /nowhere/password: no such file"},
		"empty password":     {Config{Endpoints: http, User: "switch", PasswordFile: empty, PlaintextPassword: true}, "its first line is empty"},
		"password, no user":  {Config{Endpoints: http, PasswordFile: password}, "user and password of etcd go together"},
		"a domain of two":    {Config{Endpoints: http, Domain: "a/b"}, `domain "a/b": letters, digits, '.', '_' and '-' are allowed`},
	} {
		t.Run(name, func(t *testing.T) {
			c := test.config
			c.Complete()
			err := c.Check()
			if err == nil {
				var f files
				if f, err = c.read(); err == nil {
					_, err = c.client(f)
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
