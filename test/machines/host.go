// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// host makes networks and machines, and keeps a file of each.
type host struct {
	dir, kubeNode string
	// images is a directory with archives of images that new machines have; empty for none.
	images string
	// mu: the kernel's names are shared, so one change happens at a time.
	mu sync.Mutex
}

// network is what the API calls a network.
type network struct {
	Name string `json:"name"`
	CIDR string `json:"cidr"`
}

// machine is what the API calls a machine. Nobody reads user data back.
type machine struct {
	Name     string `json:"name"`
	Network  string `json:"network"`
	Address  string `json:"address"`
	UserData string `json:"userData,omitempty"`
	// State is running or stopped.
	State string `json:"state,omitempty"`
}

// maxRequest limits a request; a cloud-config has at most 16 KiB.
const maxRequest = 64 << 10

var nameIsValid = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// serve serves the API until ctx ends. Machines live on.
func (h *host) serve(ctx context.Context, address string) error {
	for _, dir := range []string{"networks", "machines"} {
		if err := os.MkdirAll(filepath.Join(h.dir, dir), 0o700); err != nil {
			return err
		}
	}
	token, err := h.token()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /networks/{name}", answer(h.readNetwork))
	mux.HandleFunc("PUT /networks/{name}", answer(h.putNetwork))
	mux.HandleFunc("DELETE /networks/{name}", answer(h.deleteNetwork))
	mux.HandleFunc("GET /machines/{name}", answer(h.readMachine))
	mux.HandleFunc("PUT /machines/{name}", answer(h.putMachine))
	mux.HandleFunc("DELETE /machines/{name}", answer(h.deleteMachine))
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			http.Error(w, "the token is wrong", http.StatusUnauthorized)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
		mux.ServeHTTP(w, r)
	})}
	if err := writeWhole(filepath.Join(h.dir, "endpoint"), []byte("http://"+l.Addr().String())); err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		closing, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = server.Shutdown(closing) //nolint:errcheck // the process ends
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// token reads the API's token, and makes it at the first start.
func (h *host) token() (string, error) {
	path := filepath.Join(h.dir, "token")
	if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
		return string(text), nil
	}
	token := rand.Text()
	return token, writeWhole(path, []byte(token))
}

// writeWhole writes a file that readers see whole or not at all.
func writeWhole(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

var (
	errNotFound = errors.New("there is no such object")
	errConflict = errors.New("another one with this name exists")
	errInUse    = errors.New("it is in use")
	errInvalid  = errors.New("the request is not valid")
)

func answer(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !nameIsValid.MatchString(r.PathValue("name")) {
			http.Error(w, "a name has lower-case letters, digits and hyphens, and at most 63 characters", http.StatusBadRequest)
			return
		}
		value, err := f(r)
		switch {
		case errors.Is(err, errNotFound):
			http.Error(w, err.Error(), http.StatusNotFound)
		case errors.Is(err, errConflict), errors.Is(err, errInUse):
			http.Error(w, err.Error(), http.StatusConflict)
		case errors.Is(err, errInvalid):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(value) //nolint:errcheck // the client is gone
		}
	}
}

func read[T any](path string) (value T, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return value, errNotFound
	}
	if err != nil {
		return value, err
	}
	return value, json.Unmarshal(text, &value)
}

func write(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return writeWhole(path, text)
}

func (h *host) networkFile(name string) string {
	return filepath.Join(h.dir, "networks", name+".json")
}

func (h *host) readNetwork(r *http.Request) (any, error) {
	return read[network](h.networkFile(r.PathValue("name")))
}

// putNetwork makes a network. A second request with the same values changes nothing.
func (h *host) putNetwork(r *http.Request) (any, error) {
	var n network
	if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	n.Name = r.PathValue("name")
	prefix, err := netip.ParsePrefix(n.CIDR)
	if err != nil || !prefix.Addr().Is4() || !prefix.Addr().IsPrivate() || prefix.Bits() < 16 || prefix.Bits() > 24 || prefix != prefix.Masked() {
		return nil, fmt.Errorf("%w: the network %s has the range %q; want a private one of IPv4, /16 to /24", errInvalid, n.Name, n.CIDR)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, err := read[network](h.networkFile(n.Name)); err == nil && known != n {
		return nil, fmt.Errorf("network %s: %w", n.Name, errConflict)
	}
	// The file first: what is on record can be removed.
	if err := write(h.networkFile(n.Name), n); err != nil {
		return nil, err
	}
	return n, addBridge(r.Context(), h.bridge(n.Name), prefix)
}

func (h *host) deleteNetwork(r *http.Request) (any, error) {
	name := r.PathValue("name")
	h.mu.Lock()
	defer h.mu.Unlock()
	all, err := h.machines()
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.Network == name {
			return nil, fmt.Errorf("network %s: %w: machine %s is in it", name, errInUse, m.Name)
		}
	}
	return nil, h.removeNetwork(r.Context(), name)
}

func (h *host) removeNetwork(ctx context.Context, name string) error {
	if err := removeLink(ctx, h.bridge(name)); err != nil {
		return err
	}
	return removeFile(h.networkFile(name))
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// machines are those on record.
func (h *host) machines() (all []machine, err error) {
	files, err := filepath.Glob(filepath.Join(h.dir, "machines", "*", "machine.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		m, err := read[machine](file)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// clean removes everything.
func (h *host) clean(ctx context.Context) error {
	all, err := h.machines()
	if err != nil {
		return err
	}
	var failed []error
	for _, m := range all {
		failed = append(failed, h.removeMachine(ctx, m.Name))
	}
	files, err := filepath.Glob(filepath.Join(h.dir, "networks", "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		failed = append(failed, h.removeNetwork(ctx, strings.TrimSuffix(filepath.Base(file), ".json")))
	}
	return errors.Join(failed...)
}
