// SPDX-License-Identifier: Apache-2.0

package container

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/tests/fabrictest"
)

// TestProgramsLogUnderTheirNames: under supervisord each program writes to syslog with its own name,
// which rsyslog of SONiC's base image puts behind the container's: sluice#sluiced.
func TestProgramsLogUnderTheirNames(t *testing.T) {
	for _, program := range []string{"sluiced", "sluice-gnmi"} {
		t.Run(program, func(t *testing.T) {
			b := newBox(t, fabrictest.New(t), "leaf", "")
			for _, line := range strings.Split(read(t, "supervisord.conf"), "\n") {
				if value, ok := strings.CutPrefix(line, "environment="); ok {
					b.env = append(b.env, strings.ReplaceAll(value, `"`, ""))
				}
			}
			syslog, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(b.dir, "run/log")})
			if err != nil {
				t.Fatal(err)
			}
			defer syslog.Close()
			if err := os.Chmod(filepath.Join(b.dir, "run/log"), 0o666); err != nil { // as everywhere
				t.Fatal(err)
			}
			b.start(program)
			want := regexp.MustCompile(`^<(\d+)>.* ` + program + `\[\d+\]: msg="` + program + ` starts"`)
			if err := syslog.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			for buffer := make([]byte, 4096); ; {
				n, err := syslog.Read(buffer)
				if err != nil {
					t.Fatal(err)
				}
				found := want.FindSubmatch(buffer[:n])
				if found == nil {
					continue
				}
				if priority := string(found[1]); priority != "30" { // daemon.info
					t.Errorf("priority %s: %s", priority, buffer[:n])
				}
				break
			}
			if err := b.stop(); err != nil {
				t.Errorf("stopped: %v", err)
			}
		})
	}
}
