// SPDX-License-Identifier: Apache-2.0

//go:build race

package gnmi

// raceFlag builds the server as this test is built.
const raceFlag = "-race"

// memoryBound is by how much a client that stalls may make the server grow; the race detector takes several times as much.
const memoryBound = 512 << 20

// loginBound and requestBound are those without the race detector, several times.
const (
	loginBound   = 1600 << 20
	requestBound = 160 << 20
)
