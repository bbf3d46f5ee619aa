// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// boardKeys is the prefix of a board's keys; it ends with "/".
type boardKeys string

// rows returns the prefix of all nodes' rows.
func (k boardKeys) rows() string { return string(k) + "row/" }

// row returns the key of a node's row.
func (k boardKeys) row(node string) string { return k.rows() + node }

// leader returns the key of the election.
func (k boardKeys) leader() string { return string(k) + "leader" }

// published returns the key with the number of the publication in force.
func (k boardKeys) published() string { return string(k) + "published" }

// parts returns the prefix of all parts of all publications.
func (k boardKeys) parts() string { return string(k) + "part/" }

// partsOf returns the prefix of one publication's parts; the number has 16 digits, so
// that keys sort by it.
func (k boardKeys) partsOf(n uint64) string { return fmt.Sprintf("%s%016x/", k.parts(), n) }

// part returns the key of one node's part.
func (k boardKeys) part(n uint64, node string) string { return k.partsOf(n) + node }

// mostPublished bounds the numbers of publications.
const mostPublished = 1 << 62

// publishedText is the value of the key published.
func publishedText(number uint64, about string) string { return fmt.Sprintf("%016x %s", number, about) }

// parsePublished returns the number and the text of a publication, or an error for a
// value by another program.
func parsePublished(text string) (number uint64, about string, err error) {
	digits, about, _ := strings.Cut(text, " ")
	number, err = strconv.ParseUint(digits, 16, 64)
	if err != nil || number >= mostPublished || len(about) > 255 {
		return 0, "", fmt.Errorf("%.40q is not a number and what belongs to it: another program writes there", text)
	}
	return number, about, nil
}

// errLeaseGone means that etcd has revoked or expired the lease: the session is over.
var errLeaseGone = errors.New("the lease of this node is not in etcd any more")

// leaseError returns errLeaseGone for the error of a lease that is gone, and other errors
// as they are.
func leaseError(err error) error {
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return errLeaseGone
	}
	return err
}

// mine compares whether a key is of a lease.
func mine(key string, lease clientv3.LeaseID) clientv3.Cmp {
	return clientv3.Compare(clientv3.LeaseValue(key), "=", lease)
}

// missing compares whether a key is absent: its revision of creation is 0.
func missing(key string) clientv3.Cmp { return clientv3.Compare(clientv3.CreateRevision(key), "=", 0) }
