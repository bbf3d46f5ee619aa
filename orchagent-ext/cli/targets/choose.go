// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// All is the word for all targets of the inventory that the machine has, and of a group.
const All = "all"

// Choice is the switches that a command line names.
type Choice struct {
	Targets []Target // each name once, in the order of the command line
	// One: a single switch was named, and its answer needs no name beside it.
	One bool
	// Notes name the settings of inventories that are not followed, one sentence each.
	Notes []string

	notes []noted
}

// noted is a note about switches of an inventory.
type noted struct {
	file, text string
	names      []string
}

// Choose returns the targets of the words of --target: a NAME of the machine's inventory, an
// ADDRESS, @FILE or @FILE:GROUP, or all. inventory is the machine's file; it may be missing
// unless a word needs it.
func Choose(words []string, inventory string) (*Choice, error) {
	c := &Choice{}
	var own *Inventory
	if i, err := ReadInventory(inventory); err == nil {
		own = i
	} else if inventory != "" && (slices.Contains(words, All) || !errors.Is(err, os.ErrNotExist)) {
		return nil, fmt.Errorf("the inventory of this machine: %w", err)
	}
	for _, word := range words {
		if err := c.add(word, own); err != nil {
			return nil, err
		}
	}
	if len(c.Targets) == 0 {
		return nil, errors.New("--target names no switch")
	}
	for _, n := range c.notes {
		c.Notes = append(c.Notes, fmt.Sprintf("%s: %s (%s)", n.file, n.text, strings.Join(n.names, ", ")))
	}
	c.One = len(words) == 1 && words[0] != All && !strings.HasPrefix(words[0], "@")
	return c, nil
}

// add adds the targets of one word.
func (c *Choice) add(word string, own *Inventory) error {
	switch file, is := strings.CutPrefix(word, "@"); {
	case word == "":
		return errors.New("--target has an empty name")
	case is:
		i, group, err := named(file)
		if err != nil {
			return fmt.Errorf("--target: %w", err)
		}
		return c.addGroup(i, group)
	case word == All && own == nil:
		return errors.New("--target all needs an inventory: SLUICE_TARGETS names its file")
	case word == All:
		return c.addGroup(own, "")
	}
	if own != nil {
		if at := slices.IndexFunc(own.Targets, func(t Target) bool { return t.Name == word }); at >= 0 {
			c.put(own, own.Targets[at:at+1])
			return nil
		}
	}
	c.put(&Inventory{}, []Target{{Name: word, Address: word}})
	return nil
}

// named reads the inventory of @FILE or @FILE:GROUP, and returns the group.
func named(word string) (*Inventory, string, error) {
	file, group := word, ""
	if _, err := os.Stat(word); err != nil {
		if at := strings.LastIndex(word, ":"); at > 0 {
			file, group = word[:at], word[at+1:]
		}
	}
	i, err := ReadInventory(file)
	return i, group, err
}

// addGroup adds the targets of a group of an inventory.
func (c *Choice) addGroup(i *Inventory, group string) error {
	of, err := i.Group(group)
	if err != nil {
		return fmt.Errorf("--target: %w", err)
	}
	c.put(i, of)
	return nil
}

// put adds targets of an inventory that are not there yet, with the notes about them.
func (c *Choice) put(i *Inventory, all []Target) {
	for _, t := range all {
		if slices.ContainsFunc(c.Targets, func(other Target) bool { return other.Name == t.Name }) {
			continue
		}
		c.Targets = append(c.Targets, t)
		for _, n := range i.Notes {
			if n.Target == t.Name {
				c.note(i.file, n)
			}
		}
	}
}

// note keeps a note, once for all switches that it is about.
func (c *Choice) note(file string, n Note) {
	at := slices.IndexFunc(c.notes, func(other noted) bool { return other.file == file && other.text == n.Text })
	if at < 0 {
		at = len(c.notes)
		c.notes = append(c.notes, noted{file: file, text: n.Text})
	}
	c.notes[at].names = append(c.notes[at].names, n.Target)
}
