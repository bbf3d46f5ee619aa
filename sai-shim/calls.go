// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

import (
	"strconv"
	"strings"

	"sluice/sai-shim/saiattr"
)

// Call is a call of the library, as a [Watcher] sees it: not to be kept or changed.
type Call struct {
	Name      string   // create, remove, set, get, list, ask, initialize, …
	Object    string   // type of objects, such as acl_entry
	ID        ObjectID // of the object; Null: it has none, or none yet
	Beside    bool     // by a handle of [Library.Beside]: it is part of no step of the engine
	Arguments []Argument
}

// Argument is an attribute of a call: with the value that is passed, or, after a get
// that went well, the one that was read. Its Text is for people; numbers are in Number or
// List by the form of the attribute.
type Argument struct {
	saiattr.Value
	ID uint32 // of the attribute, as the profile maps it
}

// String is the call in one line: name, object and the names of attributes. Such a text
// names the call in logs, in the journal of calls and in [Library.Avoid].
func (c *Call) String() string { return string(c.Append(nil)) }

// Append appends the text of [Call.String]. It allocates only where b lacks room.
func (c *Call) Append(b []byte) []byte {
	b = append(append(append(b, c.Name...), ' '), c.Object...)
	if c.ID != Null {
		b = strconv.AppendUint(append(b, " oid:0x"...), uint64(c.ID), 16)
	}
	for i := range c.Arguments {
		b = append(append(b, ' '), c.Arguments[i].Name...)
	}
	return b
}

// Passed is the value of an argument, with the ids of objects. Elements of a list have
// commas between them; ids are in the form of [ObjectID.String].
func (a *Argument) Passed() string {
	if len(a.Keys) == 0 && (a.Text != "" || len(a.List) == 0) {
		return a.Text
	}
	words := make([]string, len(a.List))
	for i, n := range a.List {
		if a.Form == saiattr.U32s || a.Form == saiattr.S32s {
			words[i] = strconv.FormatUint(n, 10)
		} else {
			words[i] = ObjectID(n).String()
		}
	}
	return strings.Join(words, ",")
}

// Created is an object that a process created.
type Created struct {
	Object string // its type, as [Call] has it
	ID     ObjectID
}

// Watcher observes each call of the library, in its turn. Calls of the extension's API come from any
// goroutine, the others one by one from those of the handles.
type Watcher interface {
	// Calling runs before a call. Its token is passed to Called.
	Calling(c *Call) (token int)

	// Called runs after the call.
	Called(token int, c *Call, answer Status)
}

// unwatched is the watcher of libraries without one.
type unwatched struct{}

// Calling implements [Watcher].
func (unwatched) Calling(*Call) int { return 0 }

// Called implements [Watcher].
func (unwatched) Called(int, *Call, Status) {}

// enter reports the begin of a call, whose arguments were gathered.
func (l *Library) enter(call, object string, id ObjectID) {
	l.call.Name, l.call.Object, l.call.ID, l.call.Beside = call, object, id, l.beside
	l.token = l.watcher.Calling(&l.call)
}

// avoided returns the answer to a call that is left out, whose arguments were gathered;
// nil for a call to make.
func (l *Library) avoided(call, object string) error {
	if len(l.Avoid) == 0 {
		return nil
	}
	c := Call{Name: call, Object: object, Arguments: l.call.Arguments}
	if !l.Avoid[call] && !l.Avoid[c.String()] {
		return nil
	}
	e := &Error{Call: call, Object: object, Status: C.SAI_STATUS_NOT_SUPPORTED}
	if len(l.call.Arguments) == 1 {
		e.Attribute = l.call.Arguments[0].Name
	}
	l.call.Arguments = l.call.Arguments[:0]
	return e
}

// dropped drops the arguments of a call that has no turn by an error, which it returns.
func (l *Library) dropped(err error) error {
	if err != nil {
		l.call.Arguments = l.call.Arguments[:0]
	}
	return err
}

// leave reports the library's answer.
func (l *Library) leave(s Status) {
	l.watcher.Called(l.token, &l.call, s)
	l.call.Arguments = l.call.Arguments[:0]
}

// argue adds an argument to the call that will begin.
func (l *Library) argue(v saiattr.Value) {
	l.call.Arguments = append(l.call.Arguments, Argument{v, uint32(l.id(v.Attr))})
}

// check ends a call, and makes an error of its status.
func (l *Library) check(status Status) error { return l.checkAnswer(status, "") }

// checkAnswer is [Library.check] of an answer that is false for the reason in detail, or
// sound with "".
func (l *Library) checkAnswer(status Status, detail string) error {
	var err error
	if status != 0 || detail != "" {
		e := &Error{Call: l.call.Name, Object: l.call.Object, Status: status, Detail: detail}
		switch i := status.index(); {
		case i >= 0 && i < len(l.call.Arguments):
			e.Attribute = l.call.Arguments[i].Name
		case len(l.call.Arguments) == 1 && e.Call != "create": // it is about no other
			e.Attribute = l.call.Arguments[0].Name
		}
		err = e
	}
	l.leave(status)
	return err
}
