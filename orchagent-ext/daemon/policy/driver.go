// SPDX-License-Identifier: Apache-2.0

package policy

import "sluice/orchagent-ext/db/config"

// Driver names a way to the switch, as SLUICE|global driver does.
type Driver string

// The drivers.
const (
	SAI       Driver = "sai"
	Orchagent Driver = "orchagent"
)

// DriverOf is the driver that is configured.
func DriverOf(s *config.Snapshot) Driver {
	if s.Global.Driver == config.DriverOrchagent {
		return Orchagent
	}
	return SAI
}
