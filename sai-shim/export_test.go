// SPDX-License-Identifier: Apache-2.0

package sai

import (
	"context"
	"time"
)

// OnRest has f called where the reader of packets lets others come together.
func (l *Library) OnRest(f func(context.Context, time.Duration) error) { l.rest = f }
