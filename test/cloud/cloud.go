// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Object is an object of the cloud. Revision counts its changes.
type Object struct {
	Content  string `json:"content"`
	Secret   string `json:"secret,omitempty"`
	Revision int64  `json:"revision"`
}

// Cloud stores objects. It is safe for concurrent use.
type Cloud struct {
	server *httptest.Server
	token  string

	mu      sync.Mutex
	objects map[string]Object
	counts  map[request]int
	// counted is closed and replaced when a request has been counted.
	counted chan struct{}
	gates   map[request]*Gate
	faults  map[request]fault
	states  map[string][]byte
	locks   map[string][]byte
	latency time.Duration
	// The journal, see KeepJournal.
	keepsJournal bool
	journal      []Change
	tell         func(Change)
}

// request is the key of counters, gates and faults.
type request struct{ method, name string }

type fault struct {
	status  int
	message string
}

// Start starts a cloud. Close stops it.
func Start() *Cloud {
	c, err := StartAt("127.0.0.1:0")
	if err != nil {
		panic(err) // as httptest does
	}
	return c
}

// StartAt starts a cloud at a host:port, for clients that do not reach loopback.
func StartAt(address string) (*Cloud, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Cloud{token: rand.Text(), objects: map[string]Object{}, counts: map[request]int{}, counted: make(chan struct{}),
		gates: map[request]*Gate{}, faults: map[request]fault{}, states: map[string][]byte{}, locks: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /objects", c.list)
	mux.HandleFunc("/objects/{name}", c.object)
	mux.HandleFunc("/states/{name}", c.state)
	c.server = httptest.NewUnstartedServer(c.authenticated(mux))
	c.server.Listener.Close() //nolint:errcheck // replaced
	c.server.Listener = l
	c.server.Start()
	return c, nil
}

// Close releases every gate and stops the cloud.
func (c *Cloud) Close() {
	c.mu.Lock()
	for _, gate := range c.gates {
		gate.Release()
	}
	c.mu.Unlock()
	c.server.CloseClientConnections()
	c.server.Close()
}

// URL is the address of the cloud.
func (c *Cloud) URL() string { return c.server.URL }

// Token is the bearer token, and the password of any user.
func (c *Cloud) Token() string { return c.token }

// Put changes an object without tofu.
func (c *Cloud) Put(name, content string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(name, Object{Content: content, Secret: c.objects[name].Secret})
}

func (c *Cloud) put(name string, o Object) Object {
	o.Revision = c.objects[name].Revision + 1
	c.objects[name] = o
	return o
}

// Remove deletes an object without tofu.
func (c *Cloud) Remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, name)
}

// Object returns an object, and whether it exists.
func (c *Cloud) Object(name string) (Object, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.objects[name]
	return o, ok
}

// Names lists the objects whose name begins with the prefix.
func (c *Cloud) Names(prefix string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name := range c.objects {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Count is the number of requests with a method for an object, including failed ones.
func (c *Cloud) Count(method, name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[request{method, name}]
}

// AwaitCount waits until at least n requests of a method were served for an object.
func (c *Cloud) AwaitCount(ctx context.Context, method, name string, n int) error {
	for {
		c.mu.Lock()
		have, changed := c.counts[request{method, name}], c.counted
		c.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d requests %s %s, of which %d came: %w", n, method, name, have, ctx.Err())
		}
	}
}

// Fail makes every request with a method for an object fail with a status and a message, until it
// is called with status 0. "{secret}" in the message is replaced with the secret in the request.
func (c *Cloud) Fail(method, name string, status int, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if status == 0 {
		delete(c.faults, request{method, name})
		return
	}
	c.faults[request{method, name}] = fault{status, message}
}

func (c *Cloud) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, password, ok := r.BasicAuth(); ok {
			given = password
		}
		if subtle.ConstantTimeCompare([]byte(given), []byte(c.token)) != 1 {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (c *Cloud) list(w http.ResponseWriter, _ *http.Request) { answer(w, c.Names("")) }

func (c *Cloud) object(w http.ResponseWriter, r *http.Request) {
	key := request{r.Method, r.PathValue("name")}
	var given Object
	if r.Method == http.MethodPut {
		if err := json.NewDecoder(r.Body).Decode(&given); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	c.pass(key)
	c.wait(r.Context())
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.count(key)
	if f, ok := c.faults[key]; ok {
		http.Error(w, strings.ReplaceAll(f.message, "{secret}", given.Secret), f.status)
		return
	}
	o, exists := c.objects[key.name]
	c.write(r, key.name, exists)
	switch {
	case r.Method == http.MethodPut:
		answer(w, c.put(key.name, given))
	case !exists:
		http.Error(w, "no object "+key.name, http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(c.objects, key.name)
	case r.Method == http.MethodGet:
		answer(w, o)
	default:
		http.Error(w, r.Method, http.StatusMethodNotAllowed)
	}
}

func (c *Cloud) count(key request) {
	c.counts[key]++
	close(c.counted)
	c.counted = make(chan struct{})
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(value) //nolint:errcheck // the client is gone
}
