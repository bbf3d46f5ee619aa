// SPDX-License-Identifier: Apache-2.0

//go:build !race

package gnmi

// raceFlag builds the server as this test is built.
const raceFlag = "-race=false"

// memoryBound is by how much a client that stalls may make the server grow.
const memoryBound = 64 << 20
