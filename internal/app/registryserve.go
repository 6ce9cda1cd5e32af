// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	gateway "github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
	"github.com/yuba-dev/yuba/internal/home/pki"
	"github.com/yuba-dev/yuba/internal/kit/listener"
)

// ServeRegistryOptions configure the registry alone, without an API.
type ServeRegistryOptions struct {
	RegistryOptions
	// Dir holds the authority of the certificate and unfinished transfers, and the bucket unless Store
	// names one.
	Dir string
	// Grants are the tokens.
	Grants []access.Grant
	// NoMirror serves no mirror of others' providers.
	NoMirror         bool
	AllowNonLoopback bool
	// Out receives the message that the registry is ready.
	Out io.Writer
	Log *slog.Logger
	// Ready is called with the registry's host when it is served; may be nil.
	Ready func(host string)
}

// ServeRegistry serves the registry alone until ctx ends. Several processes may serve one bucket.
func ServeRegistry(ctx context.Context, opts ServeRegistryOptions) (err error) {
	if err := checkAddress("--address", opts.Address, opts.AllowNonLoopback, opts.Log); err != nil {
		return err
	}
	tokens, err := access.NewStatic(opts.Grants)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(opts.Dir, "keys"), 0o700); err != nil {
		return fmt.Errorf("make the registry's directory: %w", err)
	}
	connections, err := listener.NewBudget()
	if err != nil {
		return err
	}
	r, err := openRegistryParts(ctx, registryPlace{opts: opts.RegistryOptions, dataRegistry: filepath.Join(opts.Dir, "registry"),
		spool: filepath.Join(opts.Dir, "registry-spool"), log: opts.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	key, err := sharedURLKey(ctx, r.bucket, opts.Log)
	if err != nil {
		return err
	}
	o := gateway.Options{Modules: r.modules, Providers: r.providers, Access: tokens, Anonymous: opts.AnonymousRead, AnonymousMirror: opts.anonymousMirror(),
		Key: key, Host: r.host(opts.RegistryOptions), Log: opts.Log, Login: gateway.NewLogin()}
	if !opts.NoMirror {
		o.Mirror = r.mirror
		if o.Anonymous && !o.AnonymousMirror {
			opts.Log.Warn("the mirror needs a token, because everybody could fill the bucket with it. Name the providers that it serves with --mirror-allow, or keep it from downloading with --mirror-offline")
		}
	}
	config, err := registryTLS(opts.RegistryOptions, func() (certificate, error) {
		authority, err := pki.OpenAuthority(filepath.Join(opts.Dir, "keys", "registry-ca"), "yuba registry", time.Now())
		if err != nil {
			return nil, err
		}
		o.CA = authority.PEM()
		leaf, err := openLeaf(authority, filepath.Join(opts.Dir, "keys", "registry"), r.names(opts.RegistryOptions))
		if err != nil {
			return nil, err
		}
		return leaf.get, nil
	})
	if err != nil {
		return err
	}
	r.server = gateway.New(o)
	r.serve(connections.Share(90), config, opts.Log)
	fmt.Fprintf(opts.Out, "The registry is ready\n  Host:       %s\n  Address:    %s\n", o.Host, r.listener.Addr())
	if len(o.CA) > 0 {
		fmt.Fprintf(opts.Out, "  Authority:  %s\n", filepath.Join(opts.Dir, "keys", "registry-ca.crt"))
	}
	if opts.Ready != nil {
		opts.Ready(o.Host)
	}
	if err := r.run(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
