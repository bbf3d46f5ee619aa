// SPDX-License-Identifier: Apache-2.0

// Package lab has the commands of sluice-lab, the laboratory: it generates traffic, sends
// notifications of any content, verifies arrivals, and runs the demo. None of it belongs on a
// switch in operation, so no other program and no container has it.
package lab
