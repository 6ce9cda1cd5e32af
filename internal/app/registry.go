// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/yuba-dev/yuba/internal/blob"
	gateway "github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
)

// RegistryOptions configure the registry of modules and providers.
type RegistryOptions struct {
	// Store is the URL of the bucket, such as s3://bucket; empty means in the data directory.
	Store string
	// Address is the host:port of the protocols; "off" or empty for none. Runs need none.
	Address string
	// Host is the host to write in sources, with its port unless that is 443; empty for that of
	// Address.
	Host string
	// TLSCert and TLSKey are files; empty for a certificate of this server's own authority. Plain
	// serves without TLS, behind a proxy that has it.
	TLSCert, TLSKey string
	Plain           bool
	// AnonymousRead lets everybody read everything without a token.
	AnonymousRead bool
}

// NoRegistryAddress is the address that disables the listener.
const NoRegistryAddress = "off"

// registryParts are the registry of one server.
type registryParts struct {
	bucket  *blob.Plain
	modules *catalog.Catalog
	server  *gateway.Server
}

// openRegistry opens the registry's bucket, and adds the work in the background to the manager.
func (e *engine) openRegistry(ctx context.Context) (err error) {
	r := &registryParts{}
	if r.bucket, err = blob.OpenPlain(ctx, cmp.Or(e.opts.Registry.Store, "file://"+e.dir.Registry())); err != nil {
		return fmt.Errorf("open the registry's store: %w", err)
	}
	e.registry = r
	log := e.opts.Log.With("component", "registry")
	if r.modules, err = catalog.Open(ctx, r.bucket, catalog.Options{Log: log, MaxArchive: e.opts.limits().ArchiveBytes}); err != nil {
		return err
	}
	r.server = gateway.New(gateway.Options{Modules: r.modules, Anonymous: e.opts.Registry.AnonymousRead, Host: e.opts.Registry.Host, Log: log})
	return e.manager.Add(manager.RunnableFunc(r.modules.Run))
}

// closeRegistry closes the bucket.
func (e *engine) closeRegistry() error {
	if e.registry == nil {
		return nil
	}
	return e.registry.bucket.Close()
}
