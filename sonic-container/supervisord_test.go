// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sluice/tests/fabrictest"
)

// supervised is a box whose first process is to be supervisord, with our supervisord.conf.
func supervised(t *testing.T) *box {
	t.Helper()
	if _, err := exec.LookPath("supervisord"); err != nil {
		t.Skipf("%v: apt-get install supervisor; Debian 12 has the version of SONiC's base image", err)
	}
	b := newBox(t, fabrictest.New(t), "leaf", "")
	sections := strings.SplitAfter(read(t, "supervisord.conf"), "\n\n")
	var conf strings.Builder
	for _, s := range sections {
		// rsyslogd, and what starts the programs behind it, are SONiC's.
		if !strings.Contains(s, "[eventlistener:") && !strings.Contains(s, "[program:rsyslogd]") {
			conf.WriteString(s)
		}
	}
	text := strings.NewReplacer("/usr/bin/start.sh", b.script("start.sh"), "autostart=false", "autostart=true",
		`environment=SLUICE_SYSLOG="1"`, "", // no syslog here
		"[supervisord]", "[supervisord]\nlogfile="+filepath.Join(b.dir, "lib/log")).Replace(conf.String())
	writeFile(t, filepath.Join(b.dir, "lib/supervisord.conf"), text)
	return b
}

// TestSupervisordGoesOn: the databases may come late, as when their container starts
// again. No process starts what supervisord has given up.
func TestSupervisordGoesOn(t *testing.T) {
	b := supervised(t)
	there := filepath.Join(b.dir, "run/redis/sonic-db")
	if err := os.Rename(there, there+".later"); err != nil {
		t.Fatal(err)
	}
	b.start("supervisord", "--configuration", "/var/lib/supervisord.conf")
	const given = 3 // tries that supervisord gives a program unasked, and the first one
	for _, name := range []string{"sluiced", "sluice-gnmi"} {
		b.await(name+" to fail again and again", func() bool {
			log, _ := os.ReadFile(filepath.Join(b.dir, "lib/log"))
			return strings.Count(string(log), "exited: "+name) > given+1
		})
	}
	if err := os.Rename(there+".later", there); err != nil {
		t.Fatal(err)
	}
	b.awaitRow("SLUICE_STATE", "global", "state", "running")
	b.await("health", func() bool { _, err := b.exec(b.script("health.sh")); return err == nil })
	if err := b.stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// TestSupervisordRunsThePrograms: SONiC's base image has supervisord as the first process, which
// runs supervisord.conf. A program that dies is started again, alone, and SIGTERM
// ends all of it well.
func TestSupervisordRunsThePrograms(t *testing.T) {
	b := supervised(t)
	b.start("supervisord", "--configuration", "/var/lib/supervisord.conf")
	b.awaitRow("SLUICE_STATE", "global", "state", "running")
	b.await("health", func() bool { _, err := b.exec(b.script("health.sh")); return err == nil })
	checkRights(t, "sluiced", b.pid("sluiced"), softwareSwitchRights)
	checkRights(t, "sluice-gnmi", b.pid("sluice-gnmi"), noCapability)
	for _, name := range []string{"sluiced", "sluice-gnmi"} {
		first := b.pid(name)
		if err := unix.Kill(first, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		b.await(name+" again", func() bool { now := b.pid(name); return now != 0 && now != first })
	}
	b.await("health again", func() bool { _, err := b.exec(b.script("health.sh")); return err == nil })
	b.set("FEATURE", "sluice", "state", "disabled")
	if err := b.stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
	if programs := b.programs(); strings.Contains(programs, "Ethernet0") {
		t.Errorf("left: %s", programs)
	}
	log := read(t, filepath.Join(b.dir, "lib/log"))
	for _, name := range []string{"sluiced", "sluice-gnmi"} {
		for _, said := range []string{fmt.Sprintf(`exited: %s \(terminated by SIGKILL; not expected\)`, name), fmt.Sprintf(`stopped: %s \(exit status 0\)`, name)} {
			if !regexp.MustCompile(said).MatchString(log) {
				t.Errorf("supervisord does not say %q:\n%s", said, log)
			}
		}
	}
}
