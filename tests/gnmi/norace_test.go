// SPDX-License-Identifier: Apache-2.0

//go:build !race

package gnmi

// raceFlag builds the server as this test is built.
const raceFlag = "-race=false"

// memoryBound is by how much a client that stalls may make the server grow.
const memoryBound = 64 << 20

// loginBound is how much memory the server may have while connections without a login send what they can.
const loginBound = 200 << 20

// requestBound is by how much one request that is refused may make the server grow.
const requestBound = 20 << 20
