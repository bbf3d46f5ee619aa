// SPDX-License-Identifier: Apache-2.0

// Package redirects runs placement by rules to next hops beside the loop: a task has a
// redirector of package redirector, samples and the news of next hops. A switch that is for one
// goroutine alone gets its calls from the loop, as [Redirects.Calls], one rule at a time: a rule
// that takes long holds up the loop for its own time only.
//
// It reads settings as values.
package redirects
