// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/yuba-dev/yuba/internal/blob"
	gateway "github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/gateway/registry/access"
	"github.com/yuba-dev/yuba/internal/gateway/registry/providersapi"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/download"
	"github.com/yuba-dev/yuba/internal/registry/mirror"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/registry/own"
)

// RegistryOptions configure the registry of modules and providers.
type RegistryOptions struct {
	// Store is the URL of the bucket, such as s3://bucket; empty means beside the blobs: below registry/
	// in their bucket, or in the data directory.
	Store string
	// Address is the host:port of the protocols; "off" or empty for none. Runs need none.
	Address string
	// MayBeBusy starts without the listener if another program uses the address.
	MayBeBusy bool
	// Host is the host to write in sources, with its port unless that is 443; empty for that of
	// Address.
	Host string
	// TLSCert and TLSKey are files; empty for a certificate of this server's own authority. Plain
	// serves without TLS, behind a proxy that has it.
	TLSCert, TLSKey string
	Plain           bool
	// AnonymousRead lets everybody read modules and the registry's own providers without a token; the
	// mirror, too, if MirrorAllow or MirrorOffline limits it.
	AnonymousRead bool
	// MirrorAllow and MirrorDeny are the patterns of providers that the mirror serves, MirrorBytes the
	// size above which it evicts unused archives, and MirrorOffline keeps it from asking origins.
	MirrorAllow, MirrorDeny []string
	MirrorBytes             int64
	MirrorOffline           bool
	// RunsSkipMirror lets runs download providers of other registries from these.
	RunsSkipMirror bool

	// bundle has providers for the mirror.
	bundle BundleOptions
}

// NoRegistryAddress is the address that disables the listener.
const NoRegistryAddress = "off"

// listens is the address to listen on; empty for none.
func (o RegistryOptions) listens() string {
	if o.Address == NoRegistryAddress {
		return ""
	}
	return o.Address
}

// anonymousMirror reports whether everybody may read the mirror without a token. Without limits,
// everybody could fill the bucket with whatever the Internet has.
func (o RegistryOptions) anonymousMirror() bool {
	return o.AnonymousRead && (o.MirrorOffline || len(o.MirrorAllow) > 0)
}

// registryParts are the registry of one server.
type registryParts struct {
	bucket    *blob.Plain
	modules   *catalog.Catalog
	providers *own.Store
	mirror    *mirror.Mirror
	tools     *opentofu.Kept
	contracts contractModules
	server    *gateway.Server
	// listener is nil if the registry has no address of its own.
	listener net.Listener
	http     *http.Server
}

// registryPlace is what the registry needs of its home.
type registryPlace struct {
	opts                RegistryOptions
	dataRegistry, spool string
	// blobs is the URL of the blob store; may be empty.
	blobs      string
	maxArchive int64
	log        *slog.Logger
	// later lists the bucket later, with [registryParts.load].
	later bool
}

// openRegistryParts opens the bucket, and listens. Connections wait until [registryParts.serve].
func openRegistryParts(ctx context.Context, p registryPlace) (_ *registryParts, err error) {
	r := &registryParts{}
	if r.bucket, err = blob.OpenPlain(ctx, cmp.Or(p.opts.Store, besideBlobs(p.blobs), "file://"+p.dataRegistry)); err != nil {
		return nil, fmt.Errorf("open the registry's store: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.modules, err = catalog.Open(ctx, r.bucket, catalog.Options{Spool: filepath.Join(p.spool, "modules"), Later: p.later, Log: p.log, MaxArchive: p.maxArchive}); err != nil {
		return nil, err
	}
	if r.providers, err = own.Open(ctx, r.bucket, own.Options{Later: p.later, Spool: filepath.Join(p.spool, "providers"), Log: p.log}); err != nil {
		return nil, err
	}
	r.mirror, err = mirror.Open(r.bucket, mirror.Options{Allow: p.opts.MirrorAllow, Deny: p.opts.MirrorDeny, Limit: p.opts.MirrorBytes,
		Offline: p.opts.MirrorOffline, Spool: filepath.Join(p.spool, "mirror"), Log: p.log})
	if err != nil {
		return nil, err
	}
	if err := importBundle(ctx, r.mirror, p.opts.bundle); err != nil {
		return nil, err
	}
	return r, r.listen(p)
}

// listen listens on the registry's address.
func (r *registryParts) listen(p registryPlace) error {
	if p.opts.listens() == "" {
		return nil
	}
	l, err := net.Listen("tcp", p.opts.Address)
	if errors.Is(err, syscall.EADDRINUSE) && p.opts.MayBeBusy {
		p.log.Warn("the registry is not served to other programs: another program uses its address. Choose one with --registry-address", "address", p.opts.Address)
		return nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("cannot listen on %s: address already in use. Another Yuba or program uses it: choose another with --registry-address", p.opts.Address)
	}
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", p.opts.Address, err)
	}
	r.listener = l
	return nil
}

// host is the host to write in sources; empty without an address.
func (r *registryParts) host(opts RegistryOptions) string {
	if opts.Host != "" || r.listener == nil {
		return opts.Host
	}
	_, port, err := net.SplitHostPort(r.listener.Addr().String())
	if err != nil {
		return ""
	}
	host := reachableHost(opts.Address)
	if port == "443" {
		return host
	}
	return net.JoinHostPort(host, port)
}

// names are the names and addresses of the registry's certificate.
func (r *registryParts) names(opts RegistryOptions) []string {
	var names []string
	for _, host := range []string{opts.Host, r.host(opts)} {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if host != "" {
			names = append(names, strings.Trim(host, "[]"))
		}
	}
	return names
}

// management serves what is about providers in the management API.
func (r *registryParts) management(log *slog.Logger) map[string]http.Handler {
	return map[string]http.Handler{
		gateway.ResourceProviders:   providersapi.Providers(r.providers, log),
		gateway.ResourceSigningKeys: providersapi.SigningKeys(r.providers, log),
		gateway.ResourceMirror:      providersapi.Mirror(r.mirror, log),
	}
}

// run does the work in the background until ctx ends.
func (r *registryParts) run(ctx context.Context) error {
	ended := make(chan error, 3)
	for _, run := range []func(context.Context) error{r.modules.Run, r.providers.Run, r.mirror.Run} {
		go func() { ended <- run(ctx) }()
	}
	err := <-ended
	return errors.Join(err, <-ended, <-ended)
}

// serve serves the listener, with TLS unless the configuration is nil.
func (r *registryParts) serve(limits listener.Limits, config *tls.Config, log *slog.Logger) {
	if r.listener == nil {
		return
	}
	connections := listener.New(r.listener, limits)
	r.http = listener.NewServer(listener.Knowing(connections, r.server.Handler()), 0, config, log)
	go serve("the registry", log, func() error {
		if config == nil {
			return r.http.Serve(connections)
		}
		return r.http.ServeTLS(connections, "", "")
	})
}

// close ends the listener and closes the bucket. Answers that are being sent are cut off.
func (r *registryParts) close() error {
	if r == nil {
		return nil
	}
	var errs []error
	if r.http != nil {
		errs = append(errs, r.http.Close())
	} else if r.listener != nil {
		errs = append(errs, r.listener.Close())
	}
	return errors.Join(append(errs, r.bucket.Close())...)
}

// urlKey is where the servers of one bucket share the key that signs addresses of files. Whoever can
// read it can read all files without it.
const urlKey = "yuba/keys/addresses"

// sharedURLKey reads the key, and makes it if there is none.
func sharedURLKey(ctx context.Context, bucket *blob.Plain, log *slog.Logger) ([]byte, error) {
	const size = 32
	fresh := make([]byte, size)
	if _, err := rand.Read(fresh); err != nil {
		return nil, fmt.Errorf("make the key of the registry's addresses: %w", err)
	}
	for range 2 {
		key, err := bucket.Get(ctx, urlKey, size)
		if err == nil && len(key) == size {
			return key, nil
		}
		if err != nil && !errors.Is(err, blob.ErrNotFound) {
			return nil, fmt.Errorf("read the key of the registry's addresses: %w", err)
		}
		if err := bucket.Create(ctx, urlKey, strings.NewReader(string(fresh))); err != nil && !errors.Is(err, blob.ErrExists) {
			log.Warn("cannot store the key of the registry's addresses; other servers of this bucket will not accept them", "error", err)
			return fresh, nil
		}
	}
	return nil, fmt.Errorf("the key of the registry's addresses, %s in its bucket, is damaged: delete it", urlKey)
}

// openRegistry opens the registry, and adds its work in the background to the manager.
func (e *engine) openRegistry(ctx context.Context, config *rest.Config) (err error) {
	log := e.opts.Log.With("component", "registry")
	p := registryPlace{opts: e.opts.Registry, blobs: e.opts.BlobURL, dataRegistry: e.dir.Registry(), spool: e.dir.RegistrySpool(), maxArchive: e.opts.limits().ArchiveBytes, log: log, later: true}
	if e.registry, err = openRegistryParts(ctx, p); err != nil {
		return err
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create the API's client: %w", err)
	}
	reviews, err := access.NewAPI(api)
	if err != nil {
		return err
	}
	r, opts := e.registry, e.opts.Registry
	key, unreachable := r.load(ctx, firstLoad, log)
	if unreachable != nil {
		log.Warn("the registry's bucket cannot be used; the registry answers 503 until it can", "error", unreachable)
	}
	o := gateway.Options{Modules: r.modules, Providers: r.providers, Mirror: r.mirror, Access: reviews, Anonymous: opts.AnonymousRead,
		AnonymousMirror: opts.anonymousMirror(), Key: key, Unavailable: unreachable,
		Host: r.host(opts), Log: log, Login: gateway.NewLogin(), Observe: e.observeRegistry}
	terraform := e.opts.TerraformSource
	terraform.Tool = opentofu.Terraform
	r.tools = &opentofu.Kept{Bucket: r.bucket, Spool: download.Staging(filepath.Join(p.spool, "tools")), Allow: e.opts.ToolsAllow,
		Sources: map[string]opentofu.Source{opentofu.Tofu: e.opts.ToolSource, opentofu.Terraform: terraform}}
	if err := r.tools.Spool.Prepare(); err != nil {
		return fmt.Errorf("prepare the directory for downloads of tools: %w", err)
	}
	o.Tools, o.Contracts = r.tools, &r.contracts
	o.Management = r.management(log)
	if !opts.Plain && opts.TLSCert == "" {
		o.CA = e.opts.authority
	}
	r.server = gateway.New(o)
	if err := e.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if unreachable != nil && !r.loadLater(ctx, time.Second, log) {
			return nil
		}
		return r.run(ctx)
	})); err != nil {
		return err
	}
	return e.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		keepLettingEverybodyRead(ctx, api, log)
		return nil
	}))
}

// serveRegistry serves the registry's own address. issue makes the certificate for some names.
func (e *engine) serveRegistry(issue func(names []string) (certificate, error)) error {
	r, opts := e.registry, e.opts.Registry
	if r.listener == nil {
		return nil
	}
	config, err := registryTLS(opts, func() (certificate, error) { return issue(r.names(opts)) })
	if err != nil {
		return err
	}
	r.serve(e.opts.Connections.Share(15), config, e.opts.Log)
	return nil
}

// registryTLS is the configuration of the registry's address; nil without TLS.
func registryTLS(opts RegistryOptions, issue func() (certificate, error)) (*tls.Config, error) {
	if opts.Plain {
		return nil, nil
	}
	var cert certificate
	var err error
	if opts.TLSCert != "" {
		cert, err = certificateFiles(opts.TLSCert, opts.TLSKey, time.Now)
	} else {
		cert, err = issue()
	}
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: cert, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// sayRegistry prints the registry's host.
func (e *engine) sayRegistry(w io.Writer, format string) {
	if host := e.registry.server.Host(); host != "" {
		fmt.Fprintf(w, format, "Registry:", host)
	}
}
