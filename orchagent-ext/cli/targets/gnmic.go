// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// gnmicTarget has the keys of a target of gnmic that a connection to a switch needs, which the
// top of the file may have for all of them, and those that are noted. Others are left out.
type gnmicTarget struct {
	Address      string   `yaml:"address"`
	Username     string   `yaml:"username"`
	Password     string   `yaml:"password"`
	PasswordFile string   `yaml:"password-file"`
	CA           string   `yaml:"tls-ca"`
	Cert         string   `yaml:"tls-cert"`
	Key          string   `yaml:"tls-key"`
	ServerName   string   `yaml:"tls-server-name"`
	SkipVerify   bool     `yaml:"skip-verify"`
	Insecure     bool     `yaml:"insecure"`
	Tags         []string `yaml:"tags"`

	Port   string `yaml:"port"`
	Token  string `yaml:"token"`
	Proxy  string `yaml:"proxy"`
	Scheme string `yaml:"auth-scheme"`
	Tunnel string `yaml:"tunnel-target-type"`
}

// parseGNMIC reads the targets of a configuration of gnmic. Their tags are groups.
func (i *Inventory) parseGNMIC(content []byte) error {
	var file struct {
		gnmicTarget `yaml:",inline"`
		Targets     map[string]*gnmicTarget `yaml:"targets"`
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		return fmt.Errorf("is no configuration of gnmic: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(file.Targets)) {
		g := file.Targets[name]
		if g == nil {
			g = &gnmicTarget{}
		}
		i.Targets = append(i.Targets, i.gnmic(name, g, &file.gnmicTarget))
	}
	return nil
}

// gnmic returns a target of gnmic; common has the settings of all.
func (i *Inventory) gnmic(name string, g, common *gnmicTarget) Target {
	address, _, _ := strings.Cut(cmp.Or(g.Address, name), ",") // gnmic takes several
	address = expand(address)
	if port := cmp.Or(g.Port, common.Port); port != "" {
		if _, _, err := net.SplitHostPort(address); err != nil && !strings.HasPrefix(address, unixPrefix) {
			address = net.JoinHostPort(strings.Trim(address, "[]"), port)
		}
	}
	for _, other := range []struct{ key, value string }{
		{"auth-scheme", g.Scheme + common.Scheme}, {"proxy", g.Proxy + common.Proxy}, {"token", g.Token + common.Token}, {"tunnel-target-type", g.Tunnel + common.Tunnel},
	} {
		if other.value != "" {
			i.note(name, "%s is not followed", other.key)
		}
	}
	if g.SkipVerify || common.SkipVerify {
		i.note(name, "skip-verify is not followed: each certificate is verified")
	}
	return Target{
		Name: name, Address: address, ServerName: cmp.Or(g.ServerName, common.ServerName), Plain: g.Insecure || common.Insecure, Groups: g.Tags,
		Login: g.login().or(common.login()),
	}
}

// login returns the login of a target of gnmic. Values may name variables of the environment.
func (g *gnmicTarget) login() Login {
	return Login{CA: expand(g.CA), Cert: expand(g.Cert), Key: expand(g.Key), User: expand(g.Username), Password: expand(g.Password), PasswordFile: expand(g.PasswordFile)}
}

// expand returns a value, or that of the variable of the environment that it names as a whole:
// $NAME or ${NAME}. A password may have a $ in it.
func expand(value string) string {
	name, is := strings.CutPrefix(value, "$")
	if !is {
		return value
	}
	if inner, braces := strings.CutPrefix(name, "{"); braces {
		name = strings.TrimSuffix(inner, "}")
	}
	if own, set := os.LookupEnv(name); set {
		return own
	}
	return value
}
