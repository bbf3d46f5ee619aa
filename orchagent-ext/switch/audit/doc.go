// SPDX-License-Identifier: Apache-2.0

// Package audit looks each second, and on news of netlink, whether the system below a switch has
// everything that Sluice made there, and puts back what was taken. The loop calls it, and
// publishes what it found. Package drift decides; this package reads, puts back and logs. It never
// removes or moves anything of another owner.
package audit
