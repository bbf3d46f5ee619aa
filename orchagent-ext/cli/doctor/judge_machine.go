// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/orchagent-ext/host/machine"
)

// version compares the versions of the programs with that of the sluiced that runs.
func version(m *Machine) Verdict {
	running := m.State["version"]
	if m.Stale != nil {
		running = ""
	}
	found := "sluice " + m.Tool
	if m.Installed != "" {
		found += "; sluiced " + m.Installed + " is installed"
	}
	if running != "" {
		found += "; sluiced " + running + " runs"
	}
	v := say("version", OK, found, "")
	switch {
	case running != "" && m.Installed != "" && running != m.Installed:
		v.Level, v.Do = Note, "restart sluiced: the installed one does not run yet"
	case running != "" && running != m.Tool:
		v.Level, v.Do = Note, "take sluice and sluiced of one release: this one may not know all that the other writes"
	}
	return v
}

// kernel judges the release of Linux, which only the software switch depends on.
func kernel(m *Machine) Verdict {
	k := machine.ParseKernel(m.Release)
	v := say("kernel", OK, "Linux "+m.Release, "")
	switch {
	case k == machine.Kernel{}:
		v.Level, v.Found = Unknown, "the release of the kernel is unknown"
	case k.Before(machine.SoftwareSwitch):
		v.Level, v.Do = Act, fmt.Sprintf("the software switch needs Linux %v, and %v for placement: take a later kernel; an ASIC and captures need none", machine.SoftwareSwitch, machine.KnownPaths)
	case k.Before(machine.KnownPaths):
		v.Level, v.Do = Note, fmt.Sprintf("placement on the software switch needs Linux %v; all else works", machine.KnownPaths)
	}
	return v
}

// hash judges the kernel's choice of path, which the software switch uses.
func hash(m *Machine) Verdict {
	v := say("hash", OK, fmt.Sprintf("IPv6 policy %d, fields %#x, seed %d", m.Hash.Policy, m.Hash.Fields, m.Hash.Seed), "")
	const let = "SLUICE_FLOW_LABEL|global manage_switch_hash=true lets sluiced set it"
	switch {
	case m.HashError != nil:
		v.Level, v.Found = Unknown, m.HashError.Error()
	case !m.Hash.HashesLabel():
		v.Level, v.Do = Act, "the kernel's ECMP ignores flow labels: set net.ipv6.fib_multipath_hash_policy=3 and net.ipv6.fib_multipath_hash_fields=63; "+let
	case m.Hash.Err() != nil:
		v.Level, v.Do = Note, "paths cannot be predicted, and labels not be chosen: "+m.Hash.Err().Error()
	}
	return v
}

// rights judges the capabilities of who runs the command.
func rights(m *Machine) Verdict {
	if m.ProcessStatus == "" {
		return say("rights", Unknown, "/proc/self/status cannot be read", "")
	}
	missing := machine.MissingRights(m.ProcessStatus)
	raw := machine.Effective(m.ProcessStatus)>>machine.CapNetRaw&1 != 0
	switch {
	case !raw && missing != "":
		return say("rights", Note, "as this user: captures alone", "observe, send and listen need CAP_NET_RAW; sluiced needs "+missing+": run it as root, or as its unit does")
	case missing != "":
		return say("rights", Note, "as this user: captures, observe, send and listen", "sluiced needs "+missing)
	case !raw:
		return say("rights", Note, "as this user: captures and sluiced", "observe, send and listen need CAP_NET_RAW")
	}
	return say("rights", OK, "as this user: all commands, and sluiced", "")
}

// farOff is a clock error that mixes up the order of events on two switches, in µs.
const farOff = 100_000

// clock judges the clock, by which IPFIX, notifications of several switches and logs are
// compared. Sluice decides by the time of this machine alone.
func clock(m *Machine) Verdict {
	switch {
	case m.ClockError < 0:
		return say("clock", Act, "the clock is not synchronized", "run chrony, systemd-timesyncd or ptp4l: IPFIX and logs of several switches are compared by time, and certificates end by it")
	case m.ClockError > farOff:
		return say("clock", Note, fmt.Sprintf("the clock may be off by %d ms", m.ClockError/1000), "compare events of several switches with care")
	}
	return say("clock", OK, fmt.Sprintf("synchronized, off by at most %d us", m.ClockError), "")
}

// asic judges the forwarding plane, and which driver fits it.
func asic(m *Machine) Verdict {
	switch {
	case m.ASIC == "":
		return say("asic", OK, "no SONiC: the kernel is the switch", "libsoftsai.so (docs/linux.md)")
	case m.ASIC == machine.VirtualASIC:
		return say("asic", OK, "SONiC's virtual switch", "libsoftsai.so where the ports belong to the kernel (docs/sonic-vs.md)")
	case m.Driver == "orchagent":
		return say("asic", OK, "ASIC "+m.ASIC+", by SONiC's orchagent", "")
	case m.Syncd:
		return say("asic", Act, "ASIC "+m.ASIC+", which syncd owns", "set SLUICE|global driver=orchagent (docs/orchagent-driver.md); libsoftsai.so would see none of its packets")
	}
	return say("asic", Note, "ASIC "+m.ASIC+", no syncd", "load the vendor's SAI library; `sluice sai-check LIBRARY` finds out first what it can do (docs/vendors.md)")
}

// databases judges the access to SONiC's databases.
func databases(m *Machine) Verdict {
	if m.DatabaseError != nil {
		return say("databases", Act, m.DatabaseError.Error(), "captures need none; for sluiced start Redis with SONiC's databases, and name its file by --db-config (docs/linux.md)")
	}
	return say("databases", OK, "SONiC's databases answer", "")
}

// sluiced judges the daemon.
func sluiced(m *Machine) Verdict {
	state := m.State["state"]
	switch {
	case len(m.State) == 0:
		return say("sluiced", Note, "sluiced is not running", "docs/linux.md or docs/sonic.md start it; captures need none")
	case m.Stale != nil:
		return say("sluiced", Act, m.Stale.Error(), "start it again; its log has the reason")
	case state != "running":
		return say("sluiced", Act, "sluiced is "+state, "sluice show status has the reason")
	case m.State["warnings"] != "":
		return say("sluiced", Note, "sluiced runs, with warnings", "sluice show status has them")
	}
	return say("sluiced", OK, "sluiced runs", "")
}

// capability lists the method of each need, and the reasons of those without one.
func capability(m *Machine) []Verdict {
	var all []Verdict
	for _, field := range slices.Sorted(maps.Keys(m.Capability)) {
		need, is := strings.CutSuffix(field, "_method")
		if !is {
			continue
		}
		v := say("capability", OK, strings.ReplaceAll(need, "_", " ")+" by "+m.Capability[field], "")
		if state := m.Capability[need+"_state"]; state == "none" || m.Capability[field] == "none" {
			v.Level, v.Found, v.Do = Note, strings.ReplaceAll(need, "_", " ")+" has no method here", m.Capability[need+"_reason"]
		}
		all = append(all, v)
	}
	return all
}
