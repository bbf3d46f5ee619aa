// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/guest"
)

// guestScenarios are those that run in a guest unless others are named: their samples come by the kernel's own psample, and
// the last one needs a module that many kernels lack.
const guestScenarios = "start,place,place6,vrf"

// guestModules of Debian's kernel are used by SONiC's programs and by the network around them.
var guestModules = []string{
	"9p", "9pnet_virtio", "overlay", "veth", "tun", "dummy", "bridge", "8021q", "vrf", "team", "team_mode_loadbalance", "team_mode_roundrobin",
	"team_mode_activebackup", "team_mode_broadcast", "team_mode_random", "psample", "act_sample", "cls_matchall", "sch_ingress", "act_gact", "act_mirred",
	"unix_diag", "inet_diag", "netlink_diag", "packet_diag",
}

const (
	guestMemory = 4096 // MB
	guestBoot   = 5 * time.Minute
	guestTime   = time.Hour
)

// mountMachine gives the guest the file system of this machine, with writes in memory, and the folder out as it is
// here.
const mountMachine = "mkdir -p /machine /layers /new && mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,msize=262144,ro machine /machine && " +
	"mount -t tmpfs -o size=2g layers /layers && mkdir /layers/upper /layers/work && " +
	"mount -t overlay -o lowerdir=/machine,upperdir=/layers/upper,workdir=/layers/work overlay /new && " +
	"mount -t proc proc /new/proc && mount -t sysfs sysfs /new/sys && mount -t devtmpfs dev /new/dev && mkdir -p /new/dev/shm && " +
	"mount -t tmpfs run /new/run && mount -t tmpfs shm /new/dev/shm && mkdir -p /new%[1]s && mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 out /new%[1]s && " +
	"chroot /new ip link set lo up"

// inGuest runs scenarios in a guest with Debian's kernel. Its checks are in the report of a folder, and, with the
// guest's kernel before their names, in the report beside that folder if there is one.
func inGuest(ctx context.Context, sonic, out, names string) (err error) {
	out = filepath.Join(out, "guest")
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if sonic, err = filepath.Abs(sonic); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	root, err := guest.Suite{}.Unpack(ctx, out, "busybox-static")
	if err != nil {
		return err
	}
	image, err := guest.Contents{Kernel: root, Root: "/", Modules: guestModules}.Make(out)
	if err != nil {
		return err
	}
	f, err := fabric.New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	node, err := f.Node("guest")
	if err != nil {
		return err
	}
	g, err := guest.Boot(node, "guest", guest.Machine{
		Image: image, Memory: guestMemory, CPUs: 2, Folder: out,
		Extra: []string{"-virtfs", "local,path=/,mount_tag=machine,security_model=none,readonly=on,multidevs=remap", "-virtfs", "local,path=" + out + ",mount_tag=out,security_model=none"},
	})
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Await(guestBoot); err != nil {
		return err
	}
	fmt.Printf("a guest runs Linux %s\n", image.Release)
	ctx, stop := context.WithTimeout(ctx, guestTime)
	defer stop()
	if _, err := g.Run(ctx, mountMachine, out); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if names == "" {
		names = guestScenarios
	}
	text, failed := g.Run(ctx, "chroot /new /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root %s -sonic %s -out %s -scenario %s", self, sonic, out, names)
	fmt.Print(text)
	if g.Lost() {
		return failed
	}
	return errors.Join(failed, joinReport(filepath.Join(out, "report.json"), filepath.Join(filepath.Dir(out), "report.json"), strings.Split(names, ",")))
}

// joinReport adds the checks of a guest's report of some scenarios to another one, in place of those of an earlier guest.
func joinReport(from, to string, names []string) error {
	var guests, all report
	if err := errors.Join(readReport(from, &guests), readReport(to, &all)); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if guests.Release != all.Release {
		return fmt.Errorf("%s is of release %s, and %s of %s", from, guests.Release, to, all.Release)
	}
	all.join(&guests, names)
	return all.write(to)
}

func readReport(file string, r *report) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return fmt.Errorf("read the report %s: %w", file, err)
	}
	return nil
}

// guestCheck begins the names of a guest's checks in the report of all.
const guestCheck = "guest, "

// join adds the checks of a guest that ran some scenarios.
func (r *report) join(g *report, names []string) {
	r.Checks = slices.DeleteFunc(r.Checks, func(c check) bool { return strings.HasPrefix(c.Name, guestCheck) })
	r.NotRun = slices.DeleteFunc(r.NotRun, func(why string) bool {
		name, _, _ := strings.Cut(why, ":")
		return slices.Contains(names, name)
	})
	for _, c := range g.Checks {
		c.Name = guestCheck + "Linux " + g.Kernel + ": " + c.Name
		r.Checks = append(r.Checks, c)
	}
	for _, why := range g.NotRun {
		r.NotRun = append(r.NotRun, guestCheck+"Linux "+g.Kernel+": "+why)
	}
	for _, p := range g.Programs {
		r.ran(p)
	}
}
