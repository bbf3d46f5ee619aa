// SPDX-License-Identifier: Apache-2.0

// Package lift carries real RoCEv2/IPv4 packets over into IPv6, for `sluice capture lift6` and
// the demo. It is pure.
package lift
