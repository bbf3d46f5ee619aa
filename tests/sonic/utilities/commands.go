// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
)

// container returns a field of the container of Sluice, by a template of Docker: "" if there is none.
func container(ctx context.Context, template string) string {
	out, err := docker(ctx, "inspect", "--type", "container", "--format", template, "sluice")
	if err != nil {
		return ""
	}
	return out
}

// field returns the value behind a name at the beginning of a line; "" where there is none.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			return strings.Join(words[1:], " ")
		}
	}
	return ""
}

// running reports whether the container runs.
func running(ctx context.Context) bool { return container(ctx, "{{.State.Running}}") == "true" }

// commands: the package enabled by featured, its commands, and the hook of show techsupport.
func (m *machine) commands(ctx context.Context) (err error) {
	if err := errors.Join(m.removeModels(), m.begin(ctx, sonic()), m.images(ctx), virtualSwitch(ctx)); err != nil {
		return err
	}
	stop, err := m.featured(ctx)
	if err != nil {
		return err
	}
	defer stop()
	m.runs(ctx, "feature: install", manager, "install", "-y", "--from-tarball", m.image)
	m.runs(ctx, "feature: enable", "config", "feature", "state", "sluice", "enabled")
	m.holds("feature: featured starts the container", until(ctx, "the container runs", func() bool { return running(ctx) }) == nil, "true", fmt.Sprint(running(ctx), "; ", tail(calls(), 3)))
	m.has("feature: show feature status", "enabled", row(m.run(ctx, "show", "feature", "status").output, "sluice"))
	m.judge("feature: the container is in the network of the switch", "host", container(ctx, "{{.HostConfig.NetworkMode}}"))
	m.judge("feature: the container is privileged", "true", container(ctx, "{{.HostConfig.Privileged}}"))
	for _, mount := range []string{"/etc/sonic", "/var/lib/sluice", "/var/run/redis"} {
		m.has("feature: the container has "+mount, mount+" ", container(ctx, "{{range .Mounts}}{{.Destination}} {{end}}")+" ")
	}
	m.holds("feature: sluiced runs, with the virtual switch", until(ctx, "sluiced runs", func() bool {
		return m.stateField(ctx, "SLUICE_STATE|global", "state") == "running"
	}) == nil, "running", m.stateField(ctx, "SLUICE_STATE|global", "state")+" "+m.stateField(ctx, "SLUICE_STATE|global", "last_error"))
	m.judge("feature: show sluice status", "running", field(m.run(ctx, "show", "sluice", "status").output, "state"))

	m.faces(ctx)
	if err := m.writes(ctx); err != nil {
		return err
	}
	if err := m.dump(ctx); err != nil {
		return err
	}
	m.runs(ctx, "feature: disable", "config", "feature", "state", "sluice", "disabled")
	m.holds("feature: featured stops the container", until(ctx, "the container ends", func() bool { return !running(ctx) }) == nil, "false", running(ctx))
	m.has("feature: a command runs while the container is down", "SLUICE_THRESHOLD", m.run(ctx, "show", "sluice", "config").output)
	m.runs(ctx, "feature: enable again", "config", "feature", "state", "sluice", "enabled")
	m.holds("feature: featured starts the container again", until(ctx, "the container runs", func() bool { return running(ctx) }) == nil, "true", running(ctx))
	m.refuses(ctx, "uninstall: an enabled feature", "Disable the feature first", manager, "uninstall", "-y", "sluice")
	return m.reboots(ctx)
}

// virtualSwitch makes the netdevs of the ports, and names the software switch as the way to the ASIC, as on SONiC's virtual
// switch.
func virtualSwitch(ctx context.Context) error {
	for i := range ports {
		name := fmt.Sprint("Ethernet", 4*i)
		for _, args := range [][]string{{"add", name, "type", "veth", "peer", "name", fmt.Sprint("wire", i)}, {"set", name, "up"}, {"set", fmt.Sprint("wire", i), "up"}} {
			if out, err := exec.CommandContext(ctx, "ip", append([]string{"link"}, args...)...).CombinedOutput(); err != nil {
				return fmt.Errorf("ip link %s: %w: %s", strings.Join(args, " "), err, out)
			}
		}
	}
	if err := os.MkdirAll("/etc/sonic/sluice", 0o755); err != nil {
		return err
	}
	return os.WriteFile("/etc/sonic/sluice/sluiced.env", []byte("SLUICE_SAI_LIBRARY=/usr/lib/libsoftsai.so\n"), 0o644)
}

// faces judges how the commands are found and named.
func (m *machine) faces(ctx context.Context) {
	for _, c := range [][]string{{"show", "sluice"}, {"config", "sluice"}, {"sonic-clear", "sluice"}} {
		res := m.run(ctx, c[0], "--help")
		m.has("commands: "+c[0]+" lists sluice", "Control of single RoCEv2 flows", row(res.output, "sluice"))
		res = m.runs(ctx, "commands: "+strings.Join(c, " ")+" --help", c[0], c[1], "--help")
		m.has("commands: the help names "+strings.Join(c, " "), strings.Join(c, " ")+" [command]", res.output)
	}
	m.has("commands: show slu status, by SONiC's abbreviations", "driver", m.run(ctx, "show", "slu", "status").output)
	res := m.runs(ctx, "commands: show sluice config --json", "show", "sluice", "config", "--json")
	m.judge("commands: its output is JSON", true, json.Valid([]byte(res.output)))
	m.runs(ctx, "commands: sonic-clear sluice counters", "sonic-clear", "sluice", "counters")
	m.refuses(ctx, "commands: -n on a switch with one ASIC", "this switch has one ASIC", "show", "sluice", "status", "-n", "asic0")
	m.refuses(ctx, "commands: a command that is not there", "sluice", "show", "sluice", "nonsense")
}

// writes judges that config writes rows that SONiC's own utilities take.
func (m *machine) writes(ctx context.Context) error {
	was, err := m.contents(ctx)
	if err != nil {
		return err
	}
	m.runs(ctx, "config: a port", "config", "sluice", "port", "set", "Ethernet0", "--role", "edge")
	m.runs(ctx, "config: a threshold, and a port that refers to it", "config", "sluice", "threshold", "set", "lossless", "--high-bytes", "100000", "--queues", "3,4")
	m.runs(ctx, "config: a reference", "config", "sluice", "port", "set", "PortChannel1", "--threshold", "lossless")
	m.refuses(ctx, "config: a port that SONiC does not have", "Ethernet99", "config", "sluice", "port", "set", "Ethernet99", "--role", "edge")
	m.refuses(ctx, "config: a value that is not allowed", "draft-literal", "config", "sluice", "flow-label", "set", "--algorithm", "md5")
	want := was.plusAll(content{
		"SLUICE_PORT|Ethernet0": "role=edge", "SLUICE_THRESHOLD|lossless": "high_bytes=100000 queues@=3,4", "SLUICE_PORT|PortChannel1": "threshold=lossless",
	})
	if err := m.same(ctx, "config: CONFIG_DB after it", want); err != nil {
		return err
	}
	if err := m.apply(ctx, "config: a patch over rows that config wrote", op{"replace", pointer("SLUICE_PORT", "Ethernet0", "role"), "fabric"}); err != nil {
		return err
	}
	want["SLUICE_PORT|Ethernet0"] = "role=fabric"
	if err := m.same(ctx, "config: CONFIG_DB after the patch", want); err != nil {
		return err
	}
	m.runs(ctx, "config: save", "config", "save", "-y")
	var saved map[string]map[string]map[string]any
	if text, err := os.ReadFile(configDB); err != nil || json.Unmarshal(text, &saved) != nil {
		return fmt.Errorf("read %s: %v", configDB, err)
	}
	m.judge("config: the saved file has a list as a list", "[3 4]", fmt.Sprint(saved["SLUICE_THRESHOLD"]["lossless"]["queues"]))
	return m.reloads(ctx, want)
}

// reloads judges config reload and config load, by files that config save wrote. SONiC migrates its own
// rows then.
func (m *machine) reloads(ctx context.Context, want content) error {
	if err := exec.CommandContext(ctx, "cp", configDB, "/tmp/saved.json").Run(); err != nil {
		return err
	}
	m.runs(ctx, "reload: the file that config save wrote, which SONiC validates", "config", "reload", "-y", "-f", "/tmp/saved.json")
	if err := m.sameOurs(ctx, "reload: CONFIG_DB after it", want); err != nil {
		return err
	}
	m.judge("reload: CONFIG_DB_INITIALIZED is 1", "1", m.redisCLI(ctx, "GET", "CONFIG_DB_INITIALIZED"))
	bad := sonic().plus(tables{"SLUICE_PORT": {"Ethernet99": {"role": "edge"}}})
	if err := writeJSON("/tmp/bad.json", bad); err != nil {
		return err
	}
	m.refuses(ctx, "reload: a file with a row that is not valid", "Ethernet99", "config", "reload", "-y", "-f", "/tmp/bad.json")
	if err := m.sameOurs(ctx, "reload: a refused one changes nothing", want); err != nil {
		return err
	}
	m.runs(ctx, "reload: without a file", "config", "reload", "-y", "-f")
	if err := m.sameOurs(ctx, "reload: CONFIG_DB after it, too", want); err != nil {
		return err
	}
	if err := writeJSON("/tmp/part.json", tables{"SLUICE_PORT": {"Ethernet8": {"role": "border"}}}); err != nil {
		return err
	}
	m.runs(ctx, "load: a file with one row of Sluice", "config", "load", "-y", "/tmp/part.json")
	all := maps.Clone(want)
	all["SLUICE_PORT|Ethernet8"] = "role=border"
	return m.sameOurs(ctx, "load: CONFIG_DB after it", all)
}

// redisCLI returns the answer of CONFIG_DB to a command of Redis.
func (m *machine) redisCLI(ctx context.Context, words ...string) string {
	out, err := exec.CommandContext(ctx, "redis-cli", append([]string{"-s", m.redis.Socket, "-n", "4"}, words...)...).Output()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

// dump judges the hook of show techsupport, as generate_dump calls it.
func (m *machine) dump(ctx context.Context) error {
	m.Programs = append(m.Programs, "debug-dump/sluice")
	out, err := exec.CommandContext(ctx, "/usr/local/bin/debug-dump/sluice").Output()
	m.judge("techsupport: the hook ends with 0", "<nil>", fmt.Sprint(err))
	files := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(out)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("techsupport: the hook's archive: %w", err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		files[h.Name] = string(text)
	}
	text := files["sluice/sluice"]
	m.judge("techsupport: the archive has a file of the container", true, text != "")
	for _, part := range []string{"SLUICE_PORT", "lossless"} {
		m.has("techsupport: it has "+part, part, text)
	}
	return nil
}

// row returns the line of a table that begins with a word.
func row(text, first string) string {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 && words[0] == first {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
