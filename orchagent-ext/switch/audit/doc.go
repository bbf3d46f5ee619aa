// SPDX-License-Identifier: Apache-2.0

// Package audit checks each second, and on news of netlink, that the system below a switch has
// all parts that Sluice made there, and puts back missing ones. The loop calls it, and
// publishes the findings. Package drift decides; this package reads, puts back and logs. Parts of
// other owners keep their place.
package audit
