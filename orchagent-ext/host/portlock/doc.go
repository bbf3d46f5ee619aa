// SPDX-License-Identifier: Apache-2.0

// Package portlock makes a process the only one that programs ports of its network namespace.
//
// A lock is an abstract socket (unix(7)) for each port. The kernel has its name once in each
// network namespace, whatever files a process sees, as in a container, and frees it when the
// process ends, however that comes. daemon/process takes the locks of the software switch.
package portlock
