// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import "net/http"

// HeaderCreate marks a PUT that creates an object: the provider assumes that there is none of that
// name. The cloud serves it like any other PUT; the journal records whether the assumption was
// right.
const HeaderCreate = "Yubatest-Create"

// Change is a request to change an object.
type Change struct {
	// Method is PUT or DELETE.
	Method, Name string
	// Create is true for a PUT that should create the object.
	Create bool
	// Existed is true if the object existed before.
	Existed bool
}

// Mistaken describes the wrong assumption of a change, as made by a provider with a wrong state; ""
// if there is none.
func (c Change) Mistaken() string {
	switch {
	case c.Create && c.Existed:
		return "created what was there already"
	case c.Method == http.MethodPut && !c.Create && !c.Existed:
		return "updated what was not there"
	case c.Method == http.MethodDelete && !c.Existed:
		return "deleted what was not there"
	}
	return ""
}

// KeepJournal records every change from now on and passes each, in order, to tell, which may be nil
// and must not call the cloud.
func (c *Cloud) KeepJournal(tell func(Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepsJournal, c.tell = true, tell
}

// Journal returns the changes since KeepJournal, in order.
func (c *Cloud) Journal() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Change(nil), c.journal...)
}

// write adds a change to the journal. The caller holds the lock.
func (c *Cloud) write(r *http.Request, name string, existed bool) {
	if !c.keepsJournal || r.Method != http.MethodPut && r.Method != http.MethodDelete {
		return
	}
	change := Change{Method: r.Method, Name: name, Create: r.Header.Get(HeaderCreate) != "", Existed: existed}
	c.journal = append(c.journal, change)
	if c.tell != nil {
		c.tell(change)
	}
}
