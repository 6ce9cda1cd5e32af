// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import "net/http"

// HeaderCreate marks a PUT as one that makes an object: the provider believes that there is none of that name. It is
// served like any other; the journal tells whether that was true.
const HeaderCreate = "Yubatest-Create"

// Change is a request that changed the cloud, or meant to.
type Change struct {
	// Method is PUT or DELETE.
	Method, Name string
	// Create is true for a PUT that was to make the object.
	Create bool
	// Existed is true when there was such an object before.
	Existed bool
}

// Mistaken says what a change took for true that was not, "" when nothing: what a provider that was told a wrong state
// does.
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

// KeepJournal remembers every change from now on and tells each of them, at once and one after the other, to a function
// that may be nil. It must not call the cloud.
func (c *Cloud) KeepJournal(tell func(Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepsJournal, c.tell = true, tell
}

// Journal returns the changes since KeepJournal, in the order in which they were served.
func (c *Cloud) Journal() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Change(nil), c.journal...)
}

// write puts a change into the journal. The cloud's lock is held.
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
