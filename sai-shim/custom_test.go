// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// stockSAI has of SAI's headers what the custom headers refer to (SAI 1.16 to 1.18). The headers
// themselves are taken where SAI_INC names their folder.
var stockSAI = map[string]string{
	"sai.h":       "typedef enum _sai_api_t { SAI_API_CUSTOM_RANGE_BASE = 0x10000000 } sai_api_t;\n",
	"saitypes.h":  "",
	"saiacl.h":    "typedef enum _sai_acl_entry_attr_t { SAI_ACL_ENTRY_ATTR_CUSTOM_RANGE_START = 0x10000000 } sai_acl_entry_attr_t;\n",
	"saiswitch.h": "typedef enum _sai_switch_attr_t { SAI_SWITCH_ATTR_CUSTOM_RANGE_START = 0x10000000 } sai_switch_attr_t;\n",
	"saiqueue.h":  "typedef enum _sai_queue_attr_t { SAI_QUEUE_ATTR_CUSTOM_RANGE_START = 0x10000000 } sai_queue_attr_t;\n",
}

// TestCustomHeadersAreThoseOfTheExtension: the custom headers compile beside SAI's headers, and each
// attribute has the number of sai_sluice_ext.h. Attributes without one there are those that need
// functions of the extension, and the one of the software switch alone.
func TestCustomHeadersAreThoseOfTheExtension(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	extension, err := os.ReadFile("include/sai_sluice_ext.h")
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{"SAI_SWITCH_ATTR_FLOW_EVENT_NOTIFY": true, "SAI_SWITCH_ATTR_FLOW_EVENT2_NOTIFY": true, "SAI_SWITCH_ATTR_RELOAD_PORTS": true}
	var asserts strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^\t(SAI_\w+_ATTR_\w+) = (0x\w+),`).FindAllStringSubmatch(string(extension), -1) {
		if !left[m[1]] {
			fmt.Fprintf(&asserts, "_Static_assert(%s == %s, \"%s\");\n", m[1], m[2], m[1])
		}
	}
	if n := strings.Count(asserts.String(), "\n"); n < 7 {
		t.Fatalf("sai_sluice_ext.h has %d attributes: want 7 or more", n)
	}
	folder := os.Getenv("SAI_INC")
	if folder == "" {
		folder = t.TempDir()
		for name, text := range stockSAI {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	compile := func(asserts string) ([]byte, error) {
		c := exec.Command("gcc", "-fsyntax-only", "-Wall", "-Werror", "-I"+folder, "-I"+folder+"/../experimental", "-I"+folder+"/experimental", "-Icustom", "-x", "c", "-")
		c.Stdin = bytes.NewBufferString("#include \"saicustom.h\"\n" + asserts)
		return c.CombinedOutput()
	}
	if out, err := compile(asserts.String()); err != nil {
		t.Errorf("the custom headers: %v\n%s", err, out)
	}
	if out, err := compile(strings.Replace(asserts.String(), "== 0x10000001", "== 0x10000002", 1)); err == nil {
		t.Errorf("another number is not found: %s", out)
	}
}
