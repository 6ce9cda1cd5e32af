// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Vault is HashiCorp Vault with what tests need of it: its core with init, Shamir's seal, tokens, policies, leases, identity
// and audit; its HTTP API; KV, versions 1 and 2; and the methods token, approle, userpass and kubernetes. The
// command "vault" links all plugins and takes several times as long to compile.
//
//	vault -listen 127.0.0.1:8200 [-data DIRECTORY]
//	vault server -config=FILE
//
// It starts as Vault does: not initialized, or sealed if the directory has data. Without a directory, its storage is in
// memory. It prints its address when it serves, and runs until its standard input ends. With "server", it is started as Vault
// itself is, so that it takes the place of Vault's image: the file has the listener and the storage "file" or "raft", and a signal
// ends it; on SIGHUP it reads its certificate again. For tests only.
package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/vault/audit"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/physical"
	"github.com/hashicorp/vault/sdk/physical/file"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "server" {
		if err := serveAsVault(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "vault:", err)
			os.Exit(1)
		}
		return
	}
	listen := flag.String("listen", "127.0.0.1:8200", "the address of the API")
	data := flag.String("data", "", "the directory of the storage; in memory if empty")
	level := flag.String("log-level", "error", "which messages to print")
	flag.Parse()
	logger := hclog.New(&hclog.LoggerOptions{Name: "vault", Level: hclog.LevelFromString(*level), Output: os.Stderr})
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // its end is the signal
		close(ended)
	}()
	if err := serve(options{listen: *listen, data: *data, ended: ended}, logger); err != nil {
		fmt.Fprintln(os.Stderr, "vault:", err)
		os.Exit(1)
	}
}

// options are those of a server.
type options struct {
	listen, data string
	// tls has the certificate of the API; nil: it is served in clear text.
	tls *tls.Config
	// cluster is set for a server of several.
	cluster *cluster
	// ended ends the server.
	ended <-chan struct{}
}

func serve(o options, logger hclog.Logger) error {
	storage, err := storageIn(o, logger)
	if err != nil {
		return fmt.Errorf("open the storage: %w", err)
	}
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	address := "http://" + l.Addr().String()
	if o.tls != nil {
		address = "https://" + l.Addr().String()
		l = tls.NewListener(l, o.tls)
	}
	conf := &vault.CoreConfig{
		Physical: storage, RedirectAddr: address, Logger: logger, DisableMlock: true,
		BuiltinRegistry: builtin, LogicalBackends: secrets, CredentialBackends: methods,
		AuditBackends: map[string]audit.Factory{"file": audit.NewFileBackend},
	}
	if o.cluster != nil {
		o.cluster.configure(conf)
	}
	core, err := vault.NewCore(conf)
	if err != nil {
		return fmt.Errorf("start the core: %w", err)
	}
	handler := vaulthttp.Handler.Handler(&vault.HandlerProperties{Core: core, ListenerConfig: &configutil.Listener{}})
	if o.cluster != nil {
		if err := o.cluster.join(core, handler); err != nil {
			return err
		}
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: logger.StandardLogger(nil)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	fmt.Println(address)
	select {
	case err = <-failed:
	case <-o.ended:
		server.Close() //nolint:errcheck // nobody waits for answers
	}
	// Vault seals itself, so that its storage is complete.
	return errors.Join(err, core.ShutdownWait())
}

func storageIn(o options, logger hclog.Logger) (physical.Backend, error) {
	switch {
	case o.cluster != nil:
		return o.cluster.storage(logger)
	case o.data == "":
		return inmem.NewInmem(nil, logger)
	}
	return file.NewFileBackend(map[string]string{"path": o.data}, logger)
}
