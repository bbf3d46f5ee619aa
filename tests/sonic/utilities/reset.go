// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// reset: the package from a registry, as operators of many switches install it.
func (m *machine) reset(ctx context.Context) error {
	if err := errors.Join(m.removeModels(), m.begin(ctx, sonic()), m.images(ctx)); err != nil {
		return err
	}
	version, err := m.version()
	if err != nil {
		return err
	}
	if err := exec.CommandContext(ctx, "sh", "-c", `gzip -dc "$0" >/tmp/image.tar`, m.image).Run(); err != nil {
		return fmt.Errorf("unpack %s: %w", m.image, err)
	}
	r := &registry{repository: imageName, blobs: map[string][]byte{}, tags: map[string]string{}}
	for tag, file := range map[string]string{older: "/tmp/older.tar", version: "/tmp/image.tar", newer: "/tmp/newer.tar"} {
		if err := r.add(tag, file); err != nil {
			return err
		}
	}
	stop, err := r.serve()
	if err != nil {
		return err
	}
	defer stop()
	end, err := m.featured(ctx) // uninstall waits for it
	if err != nil {
		return err
	}
	defer end()
	defer os.Unsetenv("REQUESTS_CA_BUNDLE") //nolint:errcheck // the name is valid

	m.runs(ctx, "registry: add the repository", manager, "repository", "add", "sluice", registryName+"/"+imageName, "--default-reference", version)
	res := m.runs(ctx, "registry: list the versions", manager, "show", "package", "versions", "sluice", "--all", "--plain")
	for _, v := range []string{older, version, newer} {
		m.has("registry: the list has "+v, v, res.output)
	}
	m.runs(ctx, "registry: install the default version", manager, "install", "-y", "sluice")
	m.listed(ctx, "registry: the list has it", version+" Installed")
	m.runs(ctx, "registry: upgrade by version", manager, "install", "-y", "sluice="+newer)
	m.listed(ctx, "registry: the list has the later one", newer+" Installed")
	was, err := m.contents(ctx)
	if err != nil {
		return err
	}
	// Commands where the container is down run the image that is installed, whatever its name is.
	m.has("registry: commands run while the container is down", "In force", m.run(ctx, "show", "sluice", "config").output)
	m.runs(ctx, "reset: back to the default version", manager, "reset", "-y", "sluice")
	m.listed(ctx, "reset: the list has it", version+" Installed")
	m.judge("reset: the models are this tree's", "", m.modelsDiffer())
	if err := m.same(ctx, "reset: every row is as it was", was); err != nil {
		return err
	}
	m.runs(ctx, "reset: uninstall", manager, "uninstall", "-y", "sluice")
	return m.same(ctx, "reset: CONFIG_DB is as it was before", sonic().flat())
}
