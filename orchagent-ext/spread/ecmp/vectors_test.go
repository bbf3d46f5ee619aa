// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
)

const vectorsFile = "testdata/linux.txt"

// A vector is what the kernel did with a packet under both settings of its hash
// fields.
type vector struct {
	Seed      uint32
	Paths     int
	Tuple     Tuple
	Plain     int // path by the 5-tuple
	WithLabel int // path by the 5-tuple and the flow label
}

func (v *vector) check(t *testing.T) {
	t.Helper()
	h := Linux{Seed: v.Seed}
	if got := h.Path(v.Tuple, false, v.Paths); got != v.Plain {
		t.Errorf("5-tuple: path %d, kernel %d: %v", got, v.Plain, v)
	}
	if got := h.Path(v.Tuple, true, v.Paths); got != v.WithLabel {
		t.Errorf("with label: path %d, kernel %d: %v", got, v.WithLabel, v)
	}
}

// String is a line of the vectors' file.
func (v *vector) String() string {
	t := &v.Tuple
	return fmt.Sprintf("%d %d %v %v %d %d %d %d %d %d", v.Seed, v.Paths, t.Src, t.Dst, t.Proto, t.SrcPort, t.DstPort, t.FlowLabel, v.Plain, v.WithLabel)
}

func parseVector(line string) (v vector, err error) {
	var src, dst string
	t := &v.Tuple
	_, err = fmt.Sscan(line, &v.Seed, &v.Paths, &src, &dst, &t.Proto, &t.SrcPort, &t.DstPort, &t.FlowLabel, &v.Plain, &v.WithLabel)
	if err != nil {
		return v, err
	}
	if t.Src, err = netip.ParseAddr(src); err != nil {
		return v, err
	}
	t.Dst, err = netip.ParseAddr(dst)
	return v, err
}

// TestLinuxVectors holds the model to what a kernel did where there is no root to
// ask the one that runs.
func TestLinuxVectors(t *testing.T) {
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for s := bufio.NewScanner(strings.NewReader(string(text))); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		v, err := parseVector(s.Text())
		if err != nil {
			t.Fatalf("%s: %q: %v", vectorsFile, s.Text(), err)
		}
		v.check(t)
		count++
	}
	if count < 256 {
		t.Errorf("%s has only %d vectors", vectorsFile, count)
	}
}
