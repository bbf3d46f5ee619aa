// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// VirtualASIC is SONiC's asic_type for a switch whose ports are the kernel's.
const VirtualASIC = "vs"

// versionFile has asic_type on a machine with SONiC, also in its containers.
const versionFile = "etc/sonic/sonic_version.yml"

// ASIC returns the asic_type of SONiC, such as broadcom or vs; "" where there is no SONiC.
// root is the folder that file names begin at.
func ASIC(root string) string { return version(root, "asic_type") }

// Release returns the release of SONiC, such as 202505; "" where there is no SONiC, or its
// build_version names none. root is the folder that file names begin at.
func Release(root string) string { return releases.FindString(version(root, "build_version")) }

// releases are names of releases: year and month.
var releases = regexp.MustCompile(`\b20[0-9]{2}(0[1-9]|1[0-2])\b`)

// version returns a value of SONiC's version; "" without one.
func version(root, key string) string {
	version, err := os.ReadFile(filepath.Join(root, versionFile))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(version)) {
		if value, is := strings.CutPrefix(line, key+":"); is {
			return strings.Trim(strings.TrimSpace(value), `'"`)
		}
	}
	return ""
}

// KernelForwards is the key of the SAI profile by which an operator states that the kernel
// forwards although SONiC names an ASIC, as on some DPUs.
const KernelForwards = "SLUICE_KERNEL_FORWARDS"

// ASICError is of the software switch on a machine whose packets an ASIC forwards.
type ASICError struct {
	// Type is SONiC's asic_type.
	Type string
}

// Error names the ASIC and the ways to reach it. It is one line for the operator.
func (e *ASICError) Error() string {
	return fmt.Sprintf("libsoftsai.so makes the kernel the switch, and here an ASIC forwards (asic_type %s of /%s): the kernel sees none of its packets. Set driver=orchagent in SLUICE|global, and no library, or name the library of the vendor; where the kernel does forward, give --sai-profile %s=1", e.Type, versionFile, KernelForwards)
}

// CheckSoftwareSwitch returns an [ASICError] where the software switch would see no
// packets: beside an ASIC, unless the profile has [KernelForwards].
func CheckSoftwareSwitch(asic string, profile map[string]string) error {
	if asic == "" || asic == VirtualASIC || profile[KernelForwards] == "1" {
		return nil
	}
	return &ASICError{asic}
}
