// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	imageName = "docker-sluice"
	older     = "0.0.9"   // version of the package with the models of olderFrom
	newer     = "0.9.0"   // version of the package like this tree's, for a later upgrade
	olderFrom = "8a2807b" // a commit of this tree; tests/upgrade has rows that it wrote
)

// Labels of an image, as SONiC's package manager reads them.
const (
	labelManifest = "com.azure.sonic.manifest"
	labelModel    = "com.azure.sonic.yang-module."
)

// docker runs a command of Docker, and returns what it prints.
func docker(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, tail(string(out), 3))
	}
	return strings.TrimSpace(string(out)), nil
}

// version returns the version of the package in this tree.
func (m *machine) version() (string, error) {
	text, err := os.ReadFile(filepath.Join(m.repo, "sonic-container/manifest.json"))
	if err != nil {
		return "", err
	}
	return versionOf(text)
}

func versionOf(manifest []byte) (string, error) {
	var of struct {
		Package struct {
			Version string `json:"version"`
		} `json:"package"`
	}
	err := json.Unmarshal(manifest, &of)
	return of.Package.Version, err
}

// derive makes an image like this tree's with other labels, saves it as a file, and removes it.
func (m *machine) derive(ctx context.Context, version string, labels map[string]string, file string) error {
	folder, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	if err := os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte("FROM "+imageName+":latest\n"), 0o644); err != nil {
		return err
	}
	args := []string{"build", "--quiet", "-t", imageName + ":" + version}
	for name, value := range labels {
		args = append(args, "--label", name+"="+value)
	}
	if _, err := docker(ctx, append(args, folder)...); err != nil {
		return err
	}
	if _, err := docker(ctx, "save", "-o", file, imageName+":"+version); err != nil {
		return err
	}
	_, err = docker(ctx, "rmi", imageName+":"+version)
	return err
}

// withVersion returns a manifest with another version.
func withVersion(manifest []byte, version string) (string, error) {
	var of map[string]any
	if err := json.Unmarshal(manifest, &of); err != nil {
		return "", err
	}
	of["package"].(map[string]any)["version"] = version
	text, err := json.Marshal(of)
	return string(text), err
}

// images makes the files of an older and of a newer version of the package, and leaves neither an
// image of it in Docker nor a container, such as of an earlier run.
func (m *machine) images(ctx context.Context) error {
	if old, err := docker(ctx, "ps", "--all", "--quiet", "--filter", "name=^sluice[0-9]*$"); err != nil {
		return err
	} else if old != "" {
		if _, err := docker(ctx, append([]string{"rm", "--force"}, strings.Fields(old)...)...); err != nil {
			return err
		}
	}
	if _, err := docker(ctx, "load", "-i", m.image); err != nil {
		return err
	}
	labels := map[string]string{}
	for _, name := range []string{"sonic-sluice", "sonic-sluice-state"} {
		text, err := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "-C", m.repo, "show", olderFrom+":yang/"+name+".yang").Output()
		if err != nil {
			return fmt.Errorf("read the models of the older version, %s, in this tree's history: %w", olderFrom, err)
		}
		labels[labelModel+name] = string(text)
	}
	manifest, err := os.ReadFile(filepath.Join(m.repo, "sonic-container/manifest.json"))
	if err != nil {
		return err
	}
	if labels[labelManifest], err = withVersion(manifest, older); err != nil {
		return err
	}
	if err := m.derive(ctx, older, labels, "/tmp/older.tar"); err != nil {
		return err
	}
	later, err := withVersion(manifest, newer)
	if err != nil {
		return err
	}
	if err := m.derive(ctx, newer, map[string]string{labelManifest: later}, "/tmp/newer.tar"); err != nil {
		return err
	}
	is, err := docker(ctx, "images", "-q", imageName)
	if err != nil {
		return err
	}
	for id := range strings.FieldsSeq(is) {
		if _, err := docker(ctx, "rmi", "-f", id); err != nil {
			return err
		}
	}
	return m.builtIn(ctx)
}

// builtIn registers the packages of SONiC's own image, with the order of shutdown of SONiC's own
// manifests, so that it can be computed for Sluice. The images are empty.
func (m *machine) builtIn(ctx context.Context) error {
	before := map[string][]string{"database": {}, "swss": {"syncd"}, "syncd": {}}
	installed := map[string]any{}
	if err := exec.CommandContext(ctx, "tar", "-cf", "/tmp/empty.tar", "-T", "/dev/null").Run(); err != nil {
		return err
	}
	for name, services := range before {
		manifest, err := json.Marshal(map[string]any{
			"version": "1.0.0",
			"package": map[string]any{"version": "1.0.0", "name": name},
			"service": map[string]any{
				"name": name, "host-service": true, "asic-service": name != "database",
				"warm-shutdown": map[string]any{"before": services, "after": []string{}},
				"fast-shutdown": map[string]any{"before": services, "after": []string{}},
			},
		})
		if err != nil {
			return err
		}
		image := "docker-" + name
		quoted, err := json.Marshal(string(manifest)) // as Docker reads a value in quotation marks
		if err != nil {
			return err
		}
		if _, err := docker(ctx, "import", "--change", "LABEL "+labelManifest+"="+string(quoted), "/tmp/empty.tar", image+":latest"); err != nil {
			return err
		}
		installed[name] = map[string]any{"repository": image, "description": name, "default-reference": "1.0.0", "installed-version": "1.0.0", "built-in": true, "installed": true}
	}
	return writeJSON(packages, installed)
}
