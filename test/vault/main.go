// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Vault is HashiCorp Vault's core, with its HTTP API, its storage in memory and its KV engine: what "vault server -dev"
// starts, without the rest of the program, which takes many times longer to compile. For tests only.
//
//	vault -listen 127.0.0.1:8200
//
// It prints the root token when it serves, and runs until its standard input ends. Like the dev server, it has the KV
// engine in version 2 at secret/.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	log "github.com/hashicorp/go-hclog"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/helper/namespace"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/sdk/helper/logging"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
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
	logger := logging.NewVaultLogger(log.Warn)
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return err
	}
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical: storage, Logger: logger, DisableMlock: true, DisableCache: true,
		LogicalBackends: map[string]logical.Factory{"kv": kv.Factory},
	})
	if err != nil {
		return fmt.Errorf("create the core: %w", err)
	}
	ctx := context.Background()
	secrets, err := core.Initialize(ctx, &vault.InitParams{
		BarrierConfig:  &vault.SealConfig{SecretShares: 1, SecretThreshold: 1},
		RecoveryConfig: &vault.SealConfig{SecretShares: 1, SecretThreshold: 1},
	})
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if unsealed, err := core.Unseal(secrets.SecretShares[0]); err != nil || !unsealed {
		return fmt.Errorf("unseal: %w", errors.Join(err, errors.New("one share must suffice")))
	}
	mount := &logical.Request{
		Operation: logical.UpdateOperation, Path: "sys/mounts/secret", ClientToken: secrets.RootToken,
		Data: map[string]any{"type": "kv", "options": map[string]any{"version": "2"}},
	}
	if _, err := core.HandleRequest(namespace.RootContext(ctx), mount); err != nil {
		return fmt.Errorf("mount the KV engine: %w", err)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	api := &http.Server{Handler: vaulthttp.Handler.Handler(&vault.HandlerProperties{Core: core})} //nolint:gosec // for tests
	failed := make(chan error, 1)
	go func() { failed <- api.Serve(l) }()
	fmt.Println(secrets.RootToken)
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
