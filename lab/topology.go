// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A node has the fields of a node of containerlab's topology: its own fields over those
// of its group, and those over the defaults. Only fields that the lab uses are known.
type node struct {
	// Kind is containerlab's kind of node; the namespaces know linux alone.
	Kind string `yaml:"kind"`
	// Group names the group of the topology whose fields the node inherits.
	Group string `yaml:"group"`
	// Image is the container's image, by which the lab chooses the node's programs.
	Image string `yaml:"image"`
	// Cmd is the command of the container.
	Cmd string `yaml:"cmd"`
	// Env has the variables of all programs of the node.
	Env map[string]string `yaml:"env"`
	// Binds are FILE:PATH[:OPTIONS], relative to the topology's folder.
	Binds []string `yaml:"binds"`
	// Ports are those that containerlab publishes.
	Ports []string `yaml:"ports"`
	// Exec are commands to run in the node after its start.
	Exec []string `yaml:"exec"`
	// Sysctls are settings of the node's network namespace.
	Sysctls map[string]string `yaml:"sysctls"`
	// NetworkMode is "container:NODE" for a node in another's network.
	NetworkMode string `yaml:"network-mode"`
	// Management is the address in the management network.
	Management string `yaml:"mgmt-ipv4"`
}

// A topology is the file *.clab.yml.
type topology struct {
	// Name is that of the lab.
	Name       string `yaml:"name"`
	Management struct {
		Network string `yaml:"network"`
		Subnet  string `yaml:"ipv4-subnet"`
	} `yaml:"mgmt"`
	Topology struct {
		Defaults node            `yaml:"defaults"`
		Groups   map[string]node `yaml:"groups"`
		Nodes    map[string]node `yaml:"nodes"`
		Links    []struct {
			Endpoints []string `yaml:"endpoints"` // NODE:INTERFACE
		} `yaml:"links"`
	} `yaml:"topology"`

	folder string // of the file, which binds are relative to
}

// load reads a topology.
func load(path string) (*topology, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	t, err := parse(text, filepath.Dir(whole))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// parse reads the text of a topology, whose binds are relative to a folder. Nodes have
// the fields that they inherit. An unknown field is an error: containerlab would use it,
// and the namespaces would ignore it.
func parse(text []byte, folder string) (*topology, error) {
	t := &topology{folder: folder}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(t); err != nil {
		return nil, err
	}
	for name, own := range t.Topology.Nodes {
		t.Topology.Nodes[name] = t.inherit(own)
	}
	return t, t.check()
}

// inherit merges as containerlab does: words are of the closest level that has one, lists
// begin with those of the defaults, maps have the value of the closest.
func (t *topology) inherit(own node) node {
	group, ok := t.Topology.Groups[own.Group]
	levels := []node{t.Topology.Defaults, group, own}
	if !ok {
		levels = []node{t.Topology.Defaults, own}
	}
	n := node{Env: map[string]string{}, Sysctls: map[string]string{}}
	for _, l := range levels {
		for to, from := range map[*string]string{
			&n.Kind: l.Kind, &n.Group: l.Group, &n.Image: l.Image, &n.Cmd: l.Cmd,
			&n.NetworkMode: l.NetworkMode, &n.Management: l.Management,
		} {
			if from != "" {
				*to = from
			}
		}
		maps.Copy(n.Env, l.Env)
		maps.Copy(n.Sysctls, l.Sysctls)
		n.Binds = append(n.Binds, l.Binds...)
		n.Ports = append(n.Ports, l.Ports...)
		n.Exec = append(n.Exec, l.Exec...)
	}
	return n
}

// names are the names of all nodes, sorted.
func (t *topology) names() []string { return slices.Sorted(maps.Keys(t.Topology.Nodes)) }

// shares returns the node whose network a node has; ok is false for a network of its own.
func (n node) shares() (other string, ok bool) { return strings.CutPrefix(n.NetworkMode, "container:") }

// file returns the file of this machine that a path in the node is, by the node's binds.
func (t *topology) file(n node, path string) (string, bool) {
	for _, bind := range n.Binds {
		from, to := bound(bind)
		if rest, ok := strings.CutPrefix(path, to); ok && (rest == "" || rest[0] == '/') {
			return filepath.Join(t.folder, from) + rest, true
		}
	}
	return path, false
}

// bound splits FILE:PATH[:ro].
func bound(bind string) (from, to string) {
	from, to, _ = strings.Cut(bind, ":")
	to, _, _ = strings.Cut(to, ":")
	return from, to
}
