// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// gnmic is a configuration of gnmic 0.31.
const gnmic = `
username: admin
password: ${VI_PASSWORD}
port: 57400
tls-ca: /etc/ca.pem
encoding: json_ietf
targets:
  leaf1:
    address: 10.0.0.1:50070
    tls-cert: me.pem
    tls-key: me.key
    tags: [pod1, leaf]
  leaf2:
    address: 10.0.0.2,10.0.0.3
    username: bob
    password: pa$word
    skip-verify: true
    timeout: 5s
  10.0.0.4:50070:
  sock:
    address: unix:///run/gnmi.sock
    insecure: true
    proxy: socks5://x
subscriptions:
  x: {paths: [/a]}
`

const ansibleINI = `
; a comment
bastion ansible_host=192.0.2.1
[leaf]
leaf[01:03] ansible_port=22
odd ansible_host=2001:db8::1 gnmi_port=50071 # its own port
[spine]
spine1 ansible_host=10.0.1.1 ansible_port=50072 role="x y"
[fabric:children]
leaf
spine
[leaf:vars]
ansible_user = admin
gnmi_port = 50073
[all:vars]
ansible_connection=network_cli
`

const ansibleYAML = `
all:
  hosts:
    bastion:
      ansible_host: 192.0.2.1
  children:
    leaf:
      hosts:
        leaf[01:03]: {ansible_port: 22}
        odd:
          ansible_host: 2001:db8::1
          gnmi_port: 50071
      vars:
        gnmi_port: 50073
    spine:
      hosts:
        spine1:
          ansible_host: 10.0.1.1
          ansible_port: 50072
    fabric:
      children:
        leaf:
        spine:
`

// TestInventoriesAreRead: each form, by the end of the file's name or its lines.
func TestInventoriesAreRead(t *testing.T) {
	t.Setenv("VI_PASSWORD", "secret")
	lines := []Target{{Name: "leaf1", Address: "10.0.0.1"}, {Name: "10.0.0.2:50070", Address: "10.0.0.2:50070"}, {Name: "leaf3", Address: "[2001:db8::1]:7"}}
	admin := Login{CA: "/etc/ca.pem", User: "admin", Password: "secret"}
	own := admin
	own.Cert, own.Key = "me.pem", "me.key"
	bob := admin
	bob.User, bob.Password = "bob", "pa$word"
	ofGNMIC := []Target{
		{Name: "10.0.0.4:50070", Address: "10.0.0.4:50070", Login: admin},
		{Name: "leaf1", Address: "10.0.0.1:50070", Login: own, Groups: []string{"pod1", "leaf"}},
		{Name: "leaf2", Address: "10.0.0.2:57400", Login: bob},
		{Name: "sock", Address: "unix:///run/gnmi.sock", Plain: true, Login: admin},
	}
	leaf := func(n int) Target {
		name := fmt.Sprintf("leaf%02d", n)
		return Target{Name: name, Address: name + ":50073", Groups: []string{"fabric", "leaf"}}
	}
	ansible := []Target{
		{Name: "bastion", Address: "192.0.2.1", Groups: []string{"ungrouped"}},
		leaf(1), leaf(2), leaf(3),
		{Name: "odd", Address: "[2001:db8::1]:50071", Groups: []string{"fabric", "leaf"}},
		{Name: "spine1", Address: "10.0.1.1:50072", Groups: []string{"fabric", "spine"}},
	}
	inAll := func(t Target) Target {
		t.Groups = append([]string{"all"}, t.Groups...)
		return t
	}
	var inYAML []Target
	for _, t := range ansible {
		if t.Groups[0] == "ungrouped" {
			t.Groups = nil
		}
		inYAML = append(inYAML, inAll(t))
	}
	for name, tt := range map[string]struct {
		file, content string
		want          []Target
		notes         []string
	}{
		"lines":             {"switches", "# names\nleaf1 10.0.0.1\n10.0.0.2:50070\n\nleaf3\t[2001:db8::1]:7 # here\n", lines, nil},
		"gnmic":             {"gnmic.yaml", gnmic, ofGNMIC, []string{"leaf2: skip-verify is not followed: each certificate is verified", "sock: proxy is not followed"}},
		"gnmic by its keys": {"gnmic", "targets:\n  leaf1:\n", []Target{{Name: "leaf1", Address: "leaf1"}}, nil},
		"Ansible's INI":     {"hosts.ini", ansibleINI, ansible, nil},
		"INI by its lines":  {"hosts", ansibleINI, ansible, nil},
		"Ansible's YAML":    {"hosts.yml", ansibleYAML, inYAML, nil},
		"YAML by its lines": {"hosts", ansibleYAML, inYAML, nil},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := ParseInventory(tt.file, []byte(tt.content))
			if err != nil {
				t.Fatal(err)
			}
			sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
			if diff := cmp.Diff(tt.want, i.Targets, cmpopts.IgnoreUnexported(Target{}), sorted, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var notes []string
			for _, n := range i.Notes {
				notes = append(notes, n.Target+": "+n.Text)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInventoriesThatAreWrong(t *testing.T) {
	for content, want := range map[string]string{
		"":                                    "names no switch",
		"# nothing":                           "names no switch",
		"a b c":                               `"a b c" is not a name and an address`,
		"a 1\na 2":                            "a is there twice",
		"[leaf]\nleaf[1:99999]":               "is no range",
		"[leaf]\nleaf[3:1]":                   "is no range",
		"[leaf]\nleaf[a:d]":                   "has a range of letters",
		"leaf:\n  hosts: {'leaf[a:d:2]': {}}": "has a range of letters",
		"[leaf]\na[1:4000]\nb[1:4000]":        "more than 4096 switches",
		"[leaf]\na[1:100]b[1:100]":            "is no range",
		"[leaf:hosts]\na":                     "is no section",
		"---\n- a":                            "is no inventory in YAML",
		"---\ntargets: [a]":                   "is no configuration of gnmic",
		"---\nall: {hosts: [a]}":              "is no inventory of Ansible",
		"---\nall: {hosts: {}}":               "names no switch",
		"targets:\n":                          "names no switch",
		"---\nall: &a\n  children: {b: *a}\n": "",
	} {
		_, err := ParseInventory("x", []byte(content))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

// TestWordsOfTargetAreFound: names of the machine's inventory, addresses, files with groups, and all.
func TestWordsOfTargetAreFound(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	own := file("targets", "leaf1 10.0.0.1\nleaf2 10.0.0.2\n")
	other := file("hosts.ini", "[spine]\nspine1 ansible_host=10.0.1.1\n[leaf]\nleaf9\n")
	notes := file("gnmic.yml", "skip-verify: true\ntargets: {a: , b: }")
	for _, tt := range []struct {
		words     string
		inventory string
		want      string
		one       bool
	}{
		{"leaf1", own, "leaf1=10.0.0.1", true},
		{"10.0.0.9:7", own, "10.0.0.9:7=10.0.0.9:7", true},
		{"leaf1", filepath.Join(dir, "none"), "leaf1=leaf1", true},
		{"leaf1", "", "leaf1=leaf1", true},
		{"leaf1,x,leaf1", own, "leaf1=10.0.0.1 x=x", false},
		{"all", own, "leaf1=10.0.0.1 leaf2=10.0.0.2", false},
		{"@" + other, "", "spine1=10.0.1.1 leaf9=leaf9", false},
		{"@" + other + ":leaf", "", "leaf9=leaf9", false},
		{"@" + other + ":all,leaf2", own, "spine1=10.0.1.1 leaf9=leaf9 leaf2=10.0.0.2", false},
		{"all", "", "error: needs an inventory", false},
		{"all", filepath.Join(dir, "none"), "error: no such file", false},
		{"@" + other + ":pod", "", "error: hosts.ini has no group pod; there are: all, leaf, spine", false},
		{"@" + filepath.Join(dir, "none"), "", "error: no such file", false},
		{"leaf1,", own, "error: an empty name", false},
	} {
		c, err := Choose(strings.Split(tt.words, ","), tt.inventory)
		if want, is := strings.CutPrefix(tt.want, "error: "); is {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", tt.words, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.words, err)
			continue
		}
		var got []string
		for _, one := range c.Targets {
			got = append(got, one.Name+"="+one.Address)
		}
		if strings.Join(got, " ") != tt.want || c.One != tt.one {
			t.Errorf("%s: %v, one: %v; want %s, %v", tt.words, got, c.One, tt.want, tt.one)
		}
	}
	c, err := Choose([]string{"@" + notes}, "")
	if want := []string{"gnmic.yml: skip-verify is not followed: each certificate is verified (a, b)"}; err != nil || cmp.Diff(want, c.Notes) != "" {
		t.Errorf("notes: %v, %v", c.Notes, err)
	}
}

// TestAddressesAndNamesOfCertificates: the port that an address lacks, and the names of which a
// certificate must have one.
func TestAddressesAndNamesOfCertificates(t *testing.T) {
	for _, tt := range []struct {
		target           Target
		network, address string
		hosts            string
	}{
		{Target{Name: "leaf1", Address: "10.0.0.1"}, "tcp", "10.0.0.1:50070", "leaf1 10.0.0.1"},
		{Target{Name: "leaf1:7", Address: "leaf1:7"}, "tcp", "leaf1:7", "leaf1"},
		{Target{Name: "leaf1", Address: "2001:db8::1"}, "tcp", "[2001:db8::1]:50070", "leaf1 2001:db8::1"},
		{Target{Name: "leaf1", Address: "[fe80::1%eth0]:9"}, "tcp", "[fe80::1%eth0]:9", "leaf1 fe80::1"},
		{Target{Name: "leaf1", Address: "10.0.0.1", ServerName: "switch.example"}, "tcp", "10.0.0.1:50070", "switch.example"},
		{Target{Name: "x", Address: "unix:/run/x"}, "unix", "/run/x", ""},
	} {
		network, address := tt.target.network(Port)
		if network != tt.network || address != tt.address || tt.hosts != "" && strings.Join(tt.target.hosts(), " ") != tt.hosts {
			t.Errorf("%+v: %s %s, %v", tt.target, network, address, tt.target.hosts())
		}
	}
}

// FuzzParseInventory: no content is a fault of the program, and names are there once.
func FuzzParseInventory(f *testing.F) {
	for _, content := range []string{gnmic, ansibleINI, ansibleYAML, "leaf1 10.0.0.1\n", "a[1:2]b[0001:3:2] x=y", "---\nall: &a {children: {b: *a}}"} {
		f.Add("x", content)
		f.Add("x.yml", content)
		f.Add("x.ini", content)
	}
	f.Fuzz(func(t *testing.T, name, content string) {
		i, err := ParseInventory(name, []byte(content))
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, one := range i.Targets {
			if one.Name == "" || one.Address == "" || seen[one.Name] {
				t.Errorf("%+v", one)
			}
			seen[one.Name] = true
			one.network(Port)
			one.hosts()
		}
	})
}
