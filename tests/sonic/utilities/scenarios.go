// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"
)

// A scenario is a part of the run. It begins with SONiC's configuration, see (*machine).begin.
type scenario struct {
	name   string
	about  string
	docker bool // needs a Docker daemon
	run    func(*machine, context.Context) error
}

// scenarios in their order: the first needs least of a switch.
var scenarios = []scenario{
	{"modules", "all of SONiC's YANG modules and Sluice's in one context", false, (*machine).modules},
	{"patch", "config apply-patch, replace, checkpoint, rollback", false, (*machine).patches},
	{"package", "sonic-package-manager install, upgrade, downgrade, uninstall", true, (*machine).packageLife},
	{"registry", "sonic-package-manager with a registry, and reset", true, (*machine).reset},
	{"commands", "featured, show, config, sonic-clear, config reload, show techsupport's hook, warm reboot", true, (*machine).commands},
}

// wanted returns the scenarios that the command line asks for.
func (r request) wanted() []scenario {
	if r.scenarios == "" {
		return scenarios
	}
	asked := strings.Split(r.scenarios, ",")
	return slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return !slices.Contains(asked, s.name) })
}

func names() (all []string) {
	for _, s := range scenarios {
		all = append(all, s.name)
	}
	return all
}
