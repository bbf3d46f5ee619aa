// SPDX-License-Identifier: Apache-2.0

package capturegen

import (
	"os/exec"
	"strings"
	"testing"
)

// Tshark returns fields of every packet of a capture file as tshark reads them, a row a
// packet. A field that a packet has several times has its values joined by commas. err is
// tshark's: it also fails after the packets that it could read.
func Tshark(t testing.TB, file string, fields ...string) (rows [][]string, err error) {
	t.Helper()
	path, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed: make deps")
	}
	// Test captures use UDP ports that other protocols have, too.
	args := []string{"-n", "-r", file, "--disable-protocol", "tftp", "-T", "fields"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	out, err := exec.Command(path, args...).Output()
	for line := range strings.Lines(string(out)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows, err
}
