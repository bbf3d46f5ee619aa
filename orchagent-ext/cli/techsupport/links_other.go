// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package techsupport

import (
	"context"
	"errors"
)

// links returns an error: netlink is Linux's.
func links(context.Context, *Config) ([]Item, error) {
	return nil, errors.New("the list of netdevs needs Linux")
}
