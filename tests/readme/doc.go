// Package readme holds the README to what the programs do. Its test runs the
// commands of every block
//
//	```console
//	$ command
//	what it prints on stdout, then on stderr
//	```
//
// in order, in one folder that has bin/ and tests/captures/ of its own, and
// compares what they print, line by line. A line … of the README stands for any
// number of lines. A command must exit with 0. Commands that begin with make are
// not run: their target must exist, and they show no output. Nothing of
//
//	```sh norun
//
// is run: those blocks need root, a switch or SONiC; the test lists them. After
// a wanted change
//
//	go test ./tests/readme -update
//
// writes what was printed into the README. It never runs anything else, and
// does not check the prose.
package readme
