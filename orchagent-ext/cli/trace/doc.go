// SPDX-License-Identifier: Apache-2.0

// Package trace follows a flow from switch to switch: each says by which port the flow
// leaves and who is behind it, and that one is asked next. Command path of the sluice tool
// calls it. It is pure but for the function that it is given to ask a switch.
package trace
