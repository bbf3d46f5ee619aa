// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
)

// A place is where scenarios run and write.
type place struct {
	sonic  string   // root of SONiC's programs
	has    []string // optional ones that it has
	out    string   // folder of logs
	report *report
}

// A sonic is a switch with SONiC's daemons, its neighbors and, when it was started, sluiced.
type sonic struct {
	place
	*network
	*databases
	root    *root
	log     *syslog
	daemons map[string]*fabric.Process
	order   []string // of daemons, as they were started
	asics   *asic
	sluiced *fabric.Process
	folder  string // of this scenario; it is removed
	vrf     string // that the ports are in; "": the default one
	limits  string // resources of the virtual switch, a line each
}

// newSonic makes the switch of a scenario, and starts SONiC on it. Close it in the end, after an error, too.
func newSonic(ctx context.Context, p place, of *scenario) (s *sonic, err error) {
	s = &sonic{place: p, daemons: map[string]*fabric.Process{}, limits: strings.Join(of.limits, "\n") + "\n", vrf: of.vrf}
	if s.folder, err = os.MkdirTemp("", "sluice-sonic-"); err != nil {
		return s, err
	}
	if s.network, err = makeNetwork(); err != nil {
		return s, err
	}
	if s.root, err = makeRoot(filepath.Join(s.folder, "root"), p.sonic, s.leaf); err != nil {
		return s, err
	}
	if s.log, err = listenSyslog(s.root.file("dev/log"), filepath.Join(p.out, "syslog.txt")); err != nil {
		return s, err
	}
	if s.databases, err = startDatabases(s.root); err != nil {
		return s, err
	}
	if err := s.hardware(); err != nil {
		return s, err
	}
	if err := s.configure(ctx); err != nil {
		return s, err
	}
	if err := s.start(ctx); err != nil {
		return s, err
	}
	s.asics, err = watchASIC(ctx, s)
	return s, err
}

// hardware writes the files by which syncd knows the virtual switch.
func (s *sonic) hardware() error {
	var laneMap strings.Builder
	for i := range uplinks + 1 {
		fmt.Fprintf(&laneMap, "%s:%s\n", wire(i), lanes[i])
	}
	const at = "/usr/share/sonic/hwsku/"
	profile := "SAI_VS_SWITCH_TYPE=SAI_VS_SWITCH_TYPE_BCM56850\nSAI_VS_HOSTIF_USE_TAP_DEVICE=true\n" +
		"SAI_VS_INTERFACE_LANE_MAP_FILE=" + at + "lanemap.ini\nSAI_VS_USE_CONFIGURED_SPEED_AS_OPER_SPEED=true\n" +
		"SAI_VS_RESOURCE_LIMITER_FILE=" + at + "limits.ini\nSAI_WARM_BOOT_WRITE_FILE=/var/warmboot/sai-warmboot.bin\nSAI_WARM_BOOT_READ_FILE=/var/warmboot/sai-warmboot.bin\n"
	return errors.Join(s.root.write(at+"lanemap.ini", laneMap.String()), s.root.write(at+"limits.ini", s.limits), s.root.write(at+"sai.profile", profile))
}

// configure writes the rows of CONFIG_DB that a switch has before Sluice comes.
func (s *sonic) configure(ctx context.Context) error {
	err := errors.Join(
		s.set(ctx, "DEVICE_METADATA", "localhost", "hostname", "sonic", "hwsku", "Force10-S6000", "platform", "x86_64-kvm_x86_64-r0", "mac", switchMAC, "type", "LeafRouter", "synchronous_mode", "enable"),
		s.set(ctx, "SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP,DST_IP,IP_PROTOCOL,L4_SRC_PORT,L4_DST_PORT"),
		s.set(ctx, "CRM", "Config", "polling_interval", "1"),
		s.set(ctx, "SFLOW", "global", "admin_state", "up"),
		s.set(ctx, "SLUICE", "global", "driver", "orchagent"))
	for _, group := range []string{"PORT", "QUEUE"} {
		err = errors.Join(err, s.set(ctx, "FLEX_COUNTER_TABLE", group, "FLEX_COUNTER_STATUS", "enable"))
	}
	inVRF := []string{"ipv6_use_link_local_only", "enable"}
	if s.vrf != "" {
		err = errors.Join(err, s.set(ctx, "VRF", s.vrf, "fallback", "false"))
		inVRF = append(inVRF, "vrf_name", s.vrf)
	}
	for i := range uplinks + 1 {
		name, role := portName(i), "fabric"
		addresses := []string{}
		if i == 0 {
			role = "edge"
			addresses = append(addresses, "10.0.1.1/24", hostSubnet)
		} else {
			addresses = append(addresses, leafAddress(i-1).String()+"/31")
		}
		err = errors.Join(err,
			s.set(ctx, "PORT", name, "lanes", lanes[i], "alias", fmt.Sprint("fortyGigE0/", 4*i), "index", fmt.Sprint(i), "speed", "40000", "mtu", fmt.Sprint(portMTU), "admin_status", "up"),
			s.set(ctx, "SLUICE_PORT", name, "role", role),
			s.set(ctx, "INTERFACE", name, inVRF...))
		for _, a := range addresses {
			err = errors.Join(err, s.set(ctx, "INTERFACE", name+"|"+a, "NULL", "NULL"))
		}
	}
	return errors.Join(err, s.initialized())
}

// initialized sets the mark by which SONiC's programs know that CONFIG_DB is whole.
func (s *sonic) initialized() error {
	_, err := s.cli("CONFIG_DB", "SET", "CONFIG_DB_INITIALIZED", "1")
	return err
}

// volatile are the databases that a cold start of swss empties.
var volatile = []string{"APPL_DB", "ASIC_DB", "COUNTERS_DB", "FLEX_COUNTER_DB"}

// start starts SONiC cold: syncd, portsyncd, orchagent, and the managers when ports are there.
func (s *sonic) start(ctx context.Context) error {
	if err := s.flush(volatile...); err != nil {
		return err
	}
	if err := s.forgetState(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.run("syncd", "-s", "-u", "-l", "-p", "/usr/share/sonic/hwsku/sai.profile"), s.startSwss(ctx)); err != nil {
		return err
	}
	return s.up(ctx)
}

// forgetState removes the tables of STATE_DB that swss.sh removes at a cold start.
func (s *sonic) forgetState(ctx context.Context) error {
	for _, name := range []string{
		"PORT_TABLE", "MGMT_PORT_TABLE", "VLAN_TABLE", "VLAN_MEMBER_TABLE", "LAG_TABLE", "LAG_MEMBER_TABLE", "INTERFACE_TABLE",
		"MIRROR_SESSION", "VRF_TABLE", "FDB_TABLE", "FG_ROUTE_TABLE", "BUFFER_POOL", "BUFFER_PROFILE", "NEIGH_STATE_TABLE", "SWITCH_CAPABILITY",
		"QUEUE_COUNTER_CAPABILITIES", "PORT_COUNTER_CAPABILITIES", "ACL_TABLE_TABLE", "ACL_RULE_TABLE", "ACL_STAGE_CAPABILITY_TABLE", "COPP_GROUP_TABLE", "COPP_TRAP_TABLE",
	} {
		all, err := s.state.Read(ctx, name)
		if err != nil {
			return err
		}
		var gone []sonicdb.Change
		for _, r := range all {
			gone = append(gone, sonicdb.Change{Row: r, Deleted: true})
		}
		if err := s.state.Write(ctx, gone...); err != nil {
			return err
		}
	}
	return nil
}

// startSwss starts the daemons of the container swss.
func (s *sonic) startSwss(ctx context.Context) error {
	if err := errors.Join(s.run("portsyncd"), s.run("orchagent", "-d", "/var/log/swss", "-b", "8192", "-s", "-m", switchMAC)); err != nil {
		return err
	}
	if err := must(ctx, "orchagent has made the ports", func() (bool, error) {
		if err := s.alive(); err != nil {
			return false, err
		}
		fields, err := row(ctx, s.appl, "PORT_TABLE", "PortInitDone")
		return fields != nil, err
	}); err != nil {
		return err
	}
	err := errors.Join(s.run("portmgrd"), s.run("intfmgrd"), s.run("neighsyncd"))
	for _, p := range s.has {
		if p == "vlanmgrd" || p == "teammgrd" || p == "teamsyncd" || p == "vrfmgrd" && s.vrf == "" {
			continue // they need modules of the kernel that the scenario does not
		}
		err = errors.Join(err, s.run(p))
	}
	return err
}

// swss are the daemons that stop and start with the container swss.
func (s *sonic) swss() []string {
	return slices.DeleteFunc(slices.Clone(s.order), func(d string) bool { return d == "syncd" })
}

// run starts a program of SONiC.
func (s *sonic) run(program string, args ...string) error {
	log, err := os.OpenFile(filepath.Join(s.out, program+".txt"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("chroot", append([]string{s.root.path, "/usr/bin/" + program}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "platform=vs", "HWSKU=Force10-S6000"}
	cmd.Stdout, cmd.Stderr = log, log
	p, err := s.leaf.Start(cmd)
	if err != nil {
		return err
	}
	s.daemons[program] = p
	if !slices.Contains(s.order, program) {
		s.order = append(s.order, program)
	}
	s.report.ran(program)
	return nil
}

// halt ends daemons as docker kill does, the last started first.
func (s *sonic) halt(names ...string) {
	for i := len(s.order) - 1; i >= 0; i-- {
		if name := s.order[i]; slices.Contains(names, name) && s.daemons[name] != nil {
			s.daemons[name].Kill()
			delete(s.daemons, name)
		}
	}
}

// alive returns an error where a daemon has ended by itself.
func (s *sonic) alive() error {
	for name, p := range s.daemons {
		select {
		case <-p.Done():
			return fmt.Errorf("%s ended, see %s.txt and syslog.txt in %s: %v", name, name, s.out, p.Wait())
		default:
		}
	}
	return nil
}

// restart ends all daemons, and starts SONiC cold.
func (s *sonic) restart(ctx context.Context) error {
	s.halt(s.order...)
	s.asics.close()
	if err := errors.Join(s.asics.failed(), s.asics.forget(), s.start(ctx)); err != nil {
		return err
	}
	var err error
	s.asics, err = watchASIC(ctx, s)
	return err
}

// restartCheck runs SONiC's check whether orchagent can be restarted warm, and returns its answer. Options
// are of orchagent_restart_check: without -n orchagent freezes.
func (s *sonic) restartCheck(ctx context.Context, options ...string) (ready bool, text string) {
	s.report.ran("orchagent_restart_check")
	cmd := exec.Command("chroot", append([]string{s.root.path, "/usr/bin/orchagent_restart_check", "-w", "5000", "-r", "3"}, options...)...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	p, err := s.leaf.Start(cmd)
	if err != nil {
		return false, err.Error()
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Signal(unix.SIGKILL)
	}
	err = p.Wait()
	return err == nil, strings.TrimSpace(out.String())
}

// recording is orchagent's recording of its calls to SAI.
func (s *sonic) recording() string { return s.root.file("var/log/swss/sairedis.rec") }

func (s *sonic) close() (err error) {
	if s.asics != nil {
		s.asics.close()
	}
	if s.sluiced != nil {
		s.sluiced.Kill()
	}
	s.halt(s.order...)
	if s.databases != nil {
		s.databases.close()
	}
	if s.log != nil {
		err = errors.Join(err, s.log.close())
	}
	if s.root != nil {
		keep(s.recording(), filepath.Join(s.out, "sairedis.rec"))
		keep(s.root.file("var/log/swss/swss.rec"), filepath.Join(s.out, "swss.rec"))
		err = errors.Join(err, s.root.close())
	}
	if s.network != nil {
		err = errors.Join(err, s.fabric.Close())
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// keep copies a file of logs, if it is there.
func keep(from, to string) {
	if data, err := os.ReadFile(from); err == nil {
		_ = os.WriteFile(to, data, 0o666) // for people; a check never reads it
	}
}
