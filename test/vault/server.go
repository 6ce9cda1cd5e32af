// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/hcl"
)

// configuration is the part of Vault's configuration that this program knows. Other names are those of Vault, which tests with
// this program do not need.
type configuration struct {
	Listener map[string]struct {
		Address string `hcl:"address"`
		Cluster string `hcl:"cluster_address"`
		Cert    string `hcl:"tls_cert_file"`
		Key     string `hcl:"tls_key_file"`
	} `hcl:"listener"`
	Storage map[string]struct {
		Path string `hcl:"path"`
		Node string `hcl:"node_id"`
	} `hcl:"storage"`
	API     string `hcl:"api_addr"`
	Cluster string `hcl:"cluster_addr"`
}

// serveAsVault is "vault server".
func serveAsVault(args []string) error {
	flags := flag.NewFlagSet("vault server", flag.ContinueOnError)
	name := flags.String("config", "", "the file with the configuration")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(*name)
	if err != nil {
		return err
	}
	var c configuration
	if err := hcl.Decode(&c, string(text)); err != nil {
		return fmt.Errorf("read %s: %w", *name, err)
	}
	listener, storage := c.Listener["tcp"], c.Storage["file"]
	var member *cluster
	if raft, ok := c.Storage["raft"]; ok {
		storage = raft
		others, err := joinsOf(string(text))
		if err != nil {
			return fmt.Errorf("read retry_join in %s: %w", *name, err)
		}
		member = &cluster{path: raft.Path, node: cmp.Or(os.Getenv("VAULT_RAFT_NODE_ID"), raft.Node), others: others, listen: listener.Cluster,
			api: cmp.Or(os.Getenv("VAULT_API_ADDR"), c.API), address: cmp.Or(os.Getenv("VAULT_CLUSTER_ADDR"), c.Cluster)}
	}
	if listener.Address == "" || listener.Cert == "" || storage.Path == "" {
		return errors.New("want a listener \"tcp\" with address, tls_cert_file and tls_key_file, and a storage \"file\" or \"raft\" with path")
	}
	var current atomic.Pointer[tls.Certificate]
	load := func() error {
		cert, err := tls.LoadX509KeyPair(listener.Cert, listener.Key)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		current.Store(&cert)
		return nil
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	if err := load(); err != nil {
		return err
	}
	go func() {
		for range again {
			if err := load(); err != nil {
				fmt.Fprintln(os.Stderr, "vault:", err)
			}
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	logger := hclog.New(&hclog.LoggerOptions{Name: "vault", Level: hclog.Info, Output: os.Stderr})
	return serve(options{listen: listener.Address, data: storage.Path, ended: ctx.Done(), cluster: member,
		tls: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return current.Load(), nil }, MinVersion: tls.VersionTLS12}}, logger)
}
