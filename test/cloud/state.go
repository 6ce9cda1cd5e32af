// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"io"
	"net/http"
)

// StateAddress is the address of a state for the http backend. The lock has the same address, with
// the methods LOCK and UNLOCK.
func (c *Cloud) StateAddress(name string) string { return c.URL() + "/states/" + name }

// State returns a state; nil if there is none.
func (c *Cloud) State(name string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states[name]
}

// StateLocked reports whether the lock of a state is held.
func (c *Cloud) StateLocked(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.locks[name] != nil
}

func (c *Cloud) state(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := r.PathValue("name")
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.count(request{r.Method, name})
	switch r.Method {
	case http.MethodGet:
		if c.states[name] == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Write(c.states[name]) //nolint:errcheck // the client is gone
	case http.MethodPost:
		c.states[name] = body
	case http.MethodDelete:
		delete(c.states, name)
	case "LOCK":
		if holder := c.locks[name]; holder != nil {
			w.WriteHeader(http.StatusLocked)
			w.Write(holder) //nolint:errcheck // the client is gone
			return
		}
		c.locks[name] = body
	case "UNLOCK":
		delete(c.locks, name)
	default:
		http.Error(w, r.Method, http.StatusMethodNotAllowed)
	}
}
