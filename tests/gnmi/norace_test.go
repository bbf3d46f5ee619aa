//go:build !race

package gnmi

// raceFlag builds the server as this test is built.
const raceFlag = "-race=false"
