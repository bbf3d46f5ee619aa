// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// batch is how many steps fit into one transaction. etcd's default limit
// (--max-txn-ops) is 128 operations, of which the deepest branch of a step takes
// five.
const batch = 100

// space is the keys of a domain, as one lease writes them.
type space struct {
	prefix string // ends with "/"
	lease  clientv3.LeaseID
}

// node returns the key of this node.
func (s space) node() string { return fmt.Sprintf("%snode/%016x", s.prefix, int64(s.lease)) }

// flows returns the prefix of the references of a flow.
func (s space) flows(f string) string { return s.prefix + "flow/" + f + "/" }

// ids returns the prefix of the references to an id.
func (s space) ids(id uint16) string { return fmt.Sprintf("%sid/%04x/", s.prefix, id) }

// ref returns the key of this node's reference in a folder.
func (s space) ref(dir string) string { return fmt.Sprintf("%s%016x", dir, int64(s.lease)) }

// text returns an id as etcd has it, in 4 hexadecimal digits.
func text(id uint16) string { return fmt.Sprintf("%04x", id) }

// absent compares whether a prefix has no keys: all of an empty set have version 0.
func absent(prefix string) clientv3.Cmp {
	return clientv3.Compare(clientv3.Version(prefix), "=", 0).WithPrefix()
}

// idOf parses a Stream ID of etcd; false for any other text.
func idOf(text string) (uint16, bool) {
	id, err := strconv.ParseUint(text, 16, 16)
	return uint16(id), err == nil && id != 0 && len(text) == 4
}

// register writes the node's key if it was first written at revision created, or if it is
// missing with created 0. Its revision is the fence: transactions that ask for an older
// one fail from then on.
func (s space) register(node string, created int64) clientv3.Op {
	return clientv3.OpTxn(
		[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.node()), "=", created)},
		[]clientv3.Op{s.putNode(node)}, nil)
}

// putNode writes the key of this node, under its lease.
func (s space) putNode(node string) clientv3.Op {
	return clientv3.OpPut(s.node(), node, clientv3.WithLease(s.lease))
}

// commit carries out the steps, each as far as the keys in etcd allow, if the node's key
// is still of revision fence, and moves the fence: so it is carried out once at most.
// Without steps it is a linearized read.
func (s space) commit(node string, fence int64, steps []step) clientv3.Op {
	ops := make([]clientv3.Op, 0, len(steps)+1)
	for _, step := range steps {
		if step.remove {
			ops = append(ops, s.remove(step))
		} else {
			ops = append(ops, s.claim(step))
		}
	}
	if len(steps) > 0 {
		ops = append(ops, s.putNode(node))
	} else {
		ops = append(ops, clientv3.OpGet(s.node(), clientv3.WithKeysOnly()))
	}
	return clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(s.node()), "=", fence)}, ops, nil)
}

// claim writes the flow's references if the flow has this id, or if both are free; else
// it reads the keys that are in the way.
func (s space) claim(step step) clientv3.Op {
	flows, ids := s.flows(step.name), s.ids(step.id)
	put := []clientv3.Op{
		clientv3.OpPut(s.ref(flows), text(step.id), clientv3.WithLease(s.lease)),
		clientv3.OpPut(s.ref(ids), step.name, clientv3.WithLease(s.lease)),
	}
	last := min(int(step.id)+window, maxClaims)
	behind := clientv3.OpGet(ids, clientv3.WithRange(clientv3.GetPrefixRangeEnd(s.ids(uint16(last)))), clientv3.WithKeysOnly())
	first := clientv3.OpGet(flows, clientv3.WithPrefix(), clientv3.WithLimit(1))
	return clientv3.OpTxn(
		[]clientv3.Cmp{clientv3.Compare(clientv3.Value(flows), "=", text(step.id)).WithPrefix()}, put,
		[]clientv3.Op{clientv3.OpTxn(
			[]clientv3.Cmp{absent(flows)},
			[]clientv3.Op{clientv3.OpTxn([]clientv3.Cmp{absent(ids)}, put, []clientv3.Op{behind})},
			[]clientv3.Op{first})})
}

// remove deletes this node's references of the flow, if they are there: else the id
// may be another flow's of this node.
func (s space) remove(step step) clientv3.Op {
	ref := s.ref(s.flows(step.name))
	return clientv3.OpTxn(
		[]clientv3.Cmp{clientv3.Compare(clientv3.Value(ref), "=", text(step.id))},
		[]clientv3.Op{clientv3.OpDelete(ref), clientv3.OpDelete(s.ref(s.ids(step.id)))}, nil)
}

// scan reads which ids are in use.
func (s space) scan() clientv3.Op {
	return clientv3.OpGet(s.prefix+"id/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
}

// outcomes returns the results of the steps of a commit.
func (s space) outcomes(steps []step, answer *etcdserverpb.TxnResponse) ([]outcome, error) {
	if len(answer.GetResponses()) != len(steps)+1 {
		return nil, fmt.Errorf("etcd answers %d operations, asked were %d", len(answer.GetResponses()), len(steps)+1)
	}
	outcomes := make([]outcome, len(steps))
	for i, step := range steps {
		branch := answer.GetResponses()[i].GetResponseTxn()
		if step.remove || branch.GetSucceeded() {
			outcomes[i] = outcome{ok: true}
			continue
		}
		branch = inner(branch)
		if !branch.GetSucceeded() {
			kvs := onlyRange(branch).GetKvs()
			if len(kvs) == 0 {
				return nil, fmt.Errorf("etcd answers that flow %s has an id, and shows none", step.name)
			}
			other, ok := idOf(string(kvs[0].GetValue()))
			if !ok {
				return nil, &foreignError{key: string(kvs[0].GetKey()), value: string(kvs[0].GetValue())}
			}
			outcomes[i] = outcome{other: other}
			continue
		}
		if branch = inner(branch); branch.GetSucceeded() {
			outcomes[i] = outcome{ok: true}
			continue
		}
		outcomes[i] = outcome{used: s.used(onlyRange(branch))}
	}
	return outcomes, nil
}

// used reads the ids from keys below id/. It leaves out keys with other texts than Stream
// IDs, which nodes cannot claim.
func (s space) used(r *etcdserverpb.RangeResponse) []uint16 {
	var used []uint16
	for _, kv := range r.GetKvs() {
		digits, _, _ := strings.Cut(strings.TrimPrefix(string(kv.GetKey()), s.prefix+"id/"), "/")
		id, ok := idOf(digits)
		if n := len(used); ok && (n == 0 || used[n-1] != id) {
			used = append(used, id)
		}
	}
	return used
}

// inner returns the answer of the first request, which is a transaction itself; nil for
// an empty answer.
func inner(t *etcdserverpb.TxnResponse) *etcdserverpb.TxnResponse {
	if len(t.GetResponses()) == 0 {
		return nil
	}
	return t.GetResponses()[0].GetResponseTxn()
}

// onlyRange returns the answer of the first request, which reads keys; nil for an empty
// answer.
func onlyRange(t *etcdserverpb.TxnResponse) *etcdserverpb.RangeResponse {
	if len(t.GetResponses()) == 0 {
		return nil
	}
	return t.GetResponses()[0].GetResponseRange()
}

// foreignError: a key of Sluice's has a value of another program.
type foreignError struct{ key, value string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("etcd has %q under %s, which is no stream id: another program writes there", e.value, e.key)
}
