// SPDX-License-Identifier: Apache-2.0

package placement

// Moves is the set of flows that may exchange their label for another.
type Moves uint8

// The permissions. A held flow stays with all of them.
const (
	MovesIdle Moves = iota // those of a steady counter for IdleNS
	MovesAny               // all; packets of the flow may arrive in another order
	// none, but for the first choice for one that [Table.Enter] added
	MovesNever
)

// Config has the operator's settings. The zero value of a field means its default.
type Config struct {
	Capacity  int     // flows at most; 16384
	Leaves    int     // destination leaves are numbered below it; 0: unknown
	Moves     Moves   // which flows may move
	IdleNS    int64   // a flow of a steady counter for so long is idle; 50 ms
	MaxMoves  int     // at most so many a look; 64
	Threshold float64 // max ÷ mean above which flows move; 1.05
	Goal      float64 // max ÷ mean at which they stop; 1.02
	Largest   int     // only so many flows, the largest, are considered for a move; 512
	RestNS    int64   // time between two moves of a flow; 1 s
	RateNS    int64   // time constant of the average of rates; 1 s

	// WindowNS is the least time over which rates are measured, where flows are sampled more
	// often and looked at after each round of samples: a window ends when all pause, or
	// after twice the time, so that bursts count as wholes. While loads change, flows stay
	// (settle.go). 0: each sample is a window, and moves are made at once.
	WindowNS int64
}

// withDefaults returns the configuration with its zero fields set.
func (c Config) withDefaults() Config {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def64 := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.Capacity, 16384)
	def(&c.MaxMoves, 64)
	def(&c.Largest, 512)
	def64(&c.IdleNS, 50e6)
	def64(&c.RestNS, 1e9)
	def64(&c.RateNS, 1e9)
	if c.Threshold <= 1 {
		c.Threshold = 1.05
	}
	if c.Goal <= 1 || c.Goal > c.Threshold {
		c.Goal = 1 + (c.Threshold-1)*0.4
	}
	return c
}

// tune sets the settings that may change while flows are placed: which flows move, when, how many,
// and from which load on.
func (c *Config) tune(to *Config) {
	c.Moves, c.IdleNS, c.MaxMoves, c.Threshold, c.Goal = to.Moves, to.IdleNS, to.MaxMoves, to.Threshold, to.Goal
	*c = c.withDefaults()
}
