// SPDX-License-Identifier: Apache-2.0

package settings

import "sluice/orchagent-ext/db/config"

// Driver names a way to the switch, as SLUICE|global driver does.
type Driver string

// The drivers.
const (
	SAI       Driver = "sai"
	Orchagent Driver = "orchagent"
)

// driverOf returns the driver that is configured.
func driverOf(c *config.Global) Driver {
	if c.Driver == config.DriverOrchagent {
		return Orchagent
	}
	return SAI
}
