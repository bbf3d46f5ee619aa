// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"

	"sluice/orchagent-ext/switch/engine"
)

// Request asks the loop for the rules of its engine.
type Request struct {
	adopt  bool                 // the rules of an earlier process are asked for
	want   []engine.Redirection // else those that are to be on the switch
	answer chan answer
}

// answer is that of the engine to a request.
type answer struct {
	rules   []engine.Redirection // adopted
	refused map[string]error     // by [engine.Redirection.Key]
	err     error
}

// Serve carries the request out, and answers it. The loop calls it once.
func (q *Request) Serve(sw redirections) {
	var a answer
	if q.adopt {
		a.rules, a.err = sw.Adopt()
	} else {
		a.refused, a.err = sw.Redirect(q.want)
	}
	q.answer <- a
}

// ask gives the loop a request, and waits for its answer until the task ends.
func (r *redirecting) ask(q *Request) answer {
	q.answer = make(chan answer, 1)
	select {
	case r.requests <- q:
	case <-r.ctx.Done():
		return answer{err: context.Canceled}
	}
	select {
	case a := <-q.answer:
		return a
	case <-r.ctx.Done():
		return answer{err: context.Canceled}
	}
}
