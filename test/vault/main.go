// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Vault is the KV engine of HashiCorp Vault, version 2, at secret/ of a small server of ours. The engine's own code
// decides about versions, check-and-set and deletion, and writes the answers; the server translates requests as Vault's
// does, and knows one token. All of Vault takes an hour to compile here.
//
//	vault -listen 127.0.0.1:8200
//
// It prints the token when it serves, and runs until its standard input ends. For tests only.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/sdk/logical"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8200", "the address of the API")
	flag.Parse()
	if err := serve(*listen); err != nil {
		fmt.Fprintln(os.Stderr, "vault:", err)
		os.Exit(1)
	}
}

func serve(listen string) error {
	s := &server{token: rand.Text(), storage: &logical.InmemStorage{}}
	var err error
	s.engine, err = kv.VersionedKVFactory(context.Background(), &logical.BackendConfig{
		Logger: hclog.NewNullLogger(), StorageView: s.storage, BackendUUID: "test", Config: map[string]string{"version": "2"},
		System: &logical.StaticSystemView{DefaultLeaseTTLVal: time.Hour, MaxLeaseTTLVal: time.Hour},
	})
	if err != nil {
		return fmt.Errorf("start the KV engine: %w", err)
	}
	if err := s.engine.Initialize(context.Background(), &logical.InitializationRequest{Storage: s.storage}); err != nil {
		return fmt.Errorf("initialize the KV engine: %w", err)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- http.Serve(l, s) }() //nolint:gosec // for tests
	fmt.Println(s.token)
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // its end is the signal
		close(ended)
	}()
	select {
	case err := <-failed:
		return err
	case <-ended:
		return nil
	}
}

type server struct {
	token   string
	engine  logical.Backend
	storage logical.Storage
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/v1/secret/")
	switch {
	case r.Header.Get("X-Vault-Token") != s.token:
		refuse(w, http.StatusForbidden, "permission denied")
	case !ok:
		refuse(w, http.StatusNotFound, "no handler for route")
	default:
		s.engineServes(w, r, path)
	}
}

func (s *server) engineServes(w http.ResponseWriter, r *http.Request, path string) {
	in := &logical.Request{Path: path, Storage: s.storage, MountPoint: "secret/"}
	switch r.Method {
	case http.MethodGet:
		in.Operation = logical.ReadOperation
	case http.MethodDelete:
		in.Operation = logical.DeleteOperation
	default:
		d := json.NewDecoder(r.Body)
		d.UseNumber()
		if err := d.Decode(&in.Data); err != nil {
			refuse(w, http.StatusBadRequest, "error parsing JSON")
			return
		}
		in.Operation = logical.UpdateOperation
		if found, exists, err := s.engine.HandleExistenceCheck(r.Context(), in); err == nil && found && !exists {
			in.Operation = logical.CreateOperation
		}
	}
	out, err := s.engine.HandleRequest(r.Context(), in)
	switch {
	case errors.Is(err, logical.ErrInvalidRequest), out != nil && out.IsError():
		message := fmt.Sprint(err)
		if out != nil && out.IsError() {
			message = out.Error().Error()
		}
		refuse(w, http.StatusBadRequest, message)
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
	case out == nil && in.Operation == logical.ReadOperation:
		refuse(w, http.StatusNotFound)
	case out == nil:
		w.WriteHeader(http.StatusNoContent)
	case out.Data[logical.HTTPStatusCode] != nil: // the engine writes the answer
		body, _ := out.Data[logical.HTTPRawBody].(string)
		if raw, ok := out.Data[logical.HTTPRawBody].([]byte); ok {
			body = string(raw)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(out.Data[logical.HTTPStatusCode].(int))
		io.WriteString(w, body) //nolint:errcheck // the client's loss
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"data": out.Data, "warnings": out.Warnings}) //nolint:errcheck // the client's loss
	}
}

func refuse(w http.ResponseWriter, code int, messages ...string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(map[string]any{"errors": append([]string{}, messages...)}) //nolint:errcheck // the client's loss
}
