// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/yang/text"
)

// ansible collects the hosts and groups of an inventory of Ansible.
type ansible struct {
	hosts    []string                     // in the order of the file
	vars     map[string]map[string]string // of hosts
	groups   map[string][]string          // hosts of a group
	children map[string][]string          // groups of a group
	common   map[string]map[string]string // variables of groups
}

func newAnsible() *ansible {
	return &ansible{vars: map[string]map[string]string{}, groups: map[string][]string{}, children: map[string][]string{}, common: map[string]map[string]string{}}
}

// host adds a host, or a range of them such as leaf[01:16], to a group.
func (a *ansible) host(group, pattern string, vars map[string]string) error {
	names, err := expandRange(pattern)
	if err != nil {
		return err
	}
	for _, name := range names {
		if a.vars[name] == nil {
			a.hosts = append(a.hosts, name)
			a.vars[name] = map[string]string{}
		}
		maps.Copy(a.vars[name], vars)
		a.groups[group] = append(a.groups[group], name)
	}
	if len(a.hosts) > mostTargets {
		return fmt.Errorf("names more than %d switches", mostTargets)
	}
	return nil
}

// rangeOf is a range of numbers in a name, with an optional step; letterRange one of letters, which
// Ansible has, too.
var (
	rangeOf     = regexp.MustCompile(`^(.*?)\[(\d+):(\d+)(?::(\d+))?\](.*)$`)
	letterRange = regexp.MustCompile(`\[[A-Za-z]:[A-Za-z](:\d+)?\]`)
)

// expandRange returns the names of a pattern with ranges of numbers, whose leading zeros stay.
func expandRange(pattern string) ([]string, error) {
	if letterRange.MatchString(pattern) {
		return nil, fmt.Errorf("%q has a range of letters: name the switches, or number them", text.Cut(pattern, longestPath))
	}
	m := rangeOf.FindStringSubmatch(pattern)
	if m == nil {
		return []string{pattern}, nil
	}
	from, errFrom := strconv.Atoi(m[2])
	to, errTo := strconv.Atoi(m[3])
	step, errStep := strconv.Atoi(cmp.Or(m[4], "1"))
	if errFrom != nil || errTo != nil || errStep != nil || step < 1 || to < from || (to-from)/step >= mostTargets {
		return nil, fmt.Errorf("%q is no range of up to %d names", pattern, mostTargets)
	}
	below, err := expandRange(m[5])
	if err != nil {
		return nil, err
	}
	var all []string
	for n := from; n <= to; n += step {
		for _, rest := range below {
			if all = append(all, fmt.Sprintf("%s%0*d%s", m[1], len(m[2]), n, rest)); len(all) > mostTargets {
				return nil, fmt.Errorf("%q is no range of up to %d names", pattern, mostTargets)
			}
		}
	}
	return all, nil
}

// ungrouped is Ansible's group of hosts that are in no other.
const ungrouped = "ungrouped"

// parseINI reads an inventory of Ansible in its own form of INI.
func (i *Inventory) parseINI(content []byte) error {
	a := newAnsible()
	group, kind := ungrouped, ""
	for _, words := range lines(content) {
		if title, is := strings.CutPrefix(words[0], "["); is && len(words) == 1 && strings.HasSuffix(title, "]") && !strings.Contains(title, "[") && strings.Count(title, ":") < 2 {
			group, kind, _ = strings.Cut(strings.TrimSuffix(title, "]"), ":")
			continue
		}
		var err error
		switch kind {
		case "":
			err = a.host(group, words[0], variables(words[1:]))
		case "children":
			a.children[group] = append(a.children[group], words[0])
		case "vars":
			if a.common[group] == nil {
				a.common[group] = map[string]string{}
			}
			maps.Copy(a.common[group], variables([]string{strings.Join(words, "")}))
		default:
			err = fmt.Errorf("[%s:%s] is no section of an inventory", group, kind)
		}
		if err != nil {
			return err
		}
	}
	i.Targets = a.targets()
	return nil
}

// variables returns words of the form name=value as a map.
func variables(words []string) map[string]string {
	all := map[string]string{}
	for _, w := range words {
		if name, value, is := strings.Cut(w, "="); is {
			all[name] = strings.Trim(value, `"'`)
		}
	}
	return all
}

// ansibleGroup is a group in an inventory of Ansible in YAML.
type ansibleGroup struct {
	Hosts    map[string]map[string]any `yaml:"hosts"`
	Children map[string]*ansibleGroup  `yaml:"children"`
	Vars     map[string]any            `yaml:"vars"`
}

// parseAnsible reads an inventory of Ansible in YAML.
func (i *Inventory) parseAnsible(content []byte) error {
	var groups map[string]*ansibleGroup
	if err := yaml.Unmarshal(content, &groups); err != nil {
		return fmt.Errorf("is no inventory of Ansible: %w", err)
	}
	a := newAnsible()
	if err := a.add("", groups); err != nil {
		return err
	}
	i.Targets = a.targets()
	return nil
}

// add adds groups below a parent; "" is none.
func (a *ansible) add(parent string, groups map[string]*ansibleGroup) error {
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		if parent != "" {
			a.children[parent] = append(a.children[parent], name)
		}
		if g == nil {
			continue
		}
		a.common[name] = texts(g.Vars)
		for _, host := range slices.Sorted(maps.Keys(g.Hosts)) {
			if err := a.host(name, host, texts(g.Hosts[host])); err != nil {
				return err
			}
		}
		if err := a.add(name, g.Children); err != nil {
			return err
		}
	}
	return nil
}

// texts returns values as texts; others than scalars are left out.
func texts(values map[string]any) map[string]string {
	all := map[string]string{}
	for name, value := range values {
		switch value.(type) {
		case string, int, bool, float64:
			all[name] = fmt.Sprint(value)
		}
	}
	return all
}

// sshPort is the port of ansible_port that is no port of gNMI.
const sshPort = "22"

// targets returns the hosts as targets, each with all groups that it is in. A host's variables
// come before those of its groups.
func (a *ansible) targets() []Target {
	in := map[string][]string{} // groups of a host, the nearest first
	var walk func(group, at string, seen map[string]bool)
	walk = func(group, at string, seen map[string]bool) {
		if seen[at] {
			return
		}
		seen[at] = true
		for _, host := range a.groups[at] {
			if !slices.Contains(in[host], group) {
				in[host] = append(in[host], group)
			}
		}
		for _, child := range a.children[at] {
			walk(group, child, seen)
		}
	}
	for _, group := range slices.SortedFunc(a.names(), func(x, y string) int { return cmp.Or(cmp.Compare(a.size(x), a.size(y)), cmp.Compare(x, y)) }) {
		walk(group, group, map[string]bool{})
	}
	var all []Target
	for _, host := range a.hosts {
		value := func(name string) string {
			if v, own := a.vars[host][name]; own {
				return v
			}
			for _, group := range append(slices.Clone(in[host]), All) {
				if v, has := a.common[group][name]; has {
					return v
				}
			}
			return ""
		}
		t := Target{Name: host, Address: cmp.Or(value("ansible_host"), host), Groups: in[host]}
		port := value("gnmi_port")
		if other := value("ansible_port"); port == "" && other != sshPort {
			port = other
		}
		if port != "" {
			t.Address = net.JoinHostPort(strings.Trim(t.Address, "[]"), port)
		}
		all = append(all, t)
	}
	return all
}

// names yields the names of all groups.
func (a *ansible) names() func(yield func(string) bool) {
	all := map[string]bool{}
	for _, m := range []map[string][]string{a.groups, a.children} {
		for name := range m {
			all[name] = true
		}
	}
	return maps.Keys(all)
}

// size is how many groups and hosts a group has below it, by which the nearest group is found.
func (a *ansible) size(group string) int {
	seen := map[string]bool{}
	n := 0
	var walk func(string)
	walk = func(g string) {
		if seen[g] {
			return
		}
		seen[g] = true
		n += len(a.groups[g])
		for _, c := range a.children[g] {
			n++
			walk(c)
		}
	}
	walk(group)
	return n
}
