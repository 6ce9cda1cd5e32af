// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/integrity"
	"github.com/yuba-dev/yuba/internal/home/pki"
)

// ControllerOptions configure controllers on an existing API.
type ControllerOptions struct {
	Common
	Config *rest.Config
	// ContentAddress is the host:port for logs, plans and states; with port 0 the system chooses
	// the port.
	ContentAddress   string
	AllowNonLoopback bool
	// LeaderElect makes this process one of several replicas: one leads, and the others pass
	// connections on to it and wait. They reach each other at AdvertiseAddress, a host.
	LeaderElect      bool
	AdvertiseAddress string
	// Service is the Service that leads to this process; empty for none. The cluster's API server
	// serves content by it.
	Service types.NamespacedName
	// KeysSecret is the NAMESPACE/NAME of the Secret with the keys that replicas share; empty for
	// keys in the data directory only.
	KeysSecret string
	// HTTPAddress is the host:port for browsers and webhooks; empty for none.
	HTTPAddress string
	// VolatileBlobs allows starting without the blobs of an earlier process.
	VolatileBlobs bool
	// HealthAddress is the host:port of /livez and /readyz; empty for none.
	HealthAddress string
	// Ready is called when the controllers work; may be nil.
	Ready func(contentURL string)
}

// LogKubernetes sends the log of Kubernetes' packages to the controllers' log. The setting is
// global to the process; the embedded home makes it itself.
func LogKubernetes(log *slog.Logger) {
	klog.SetLogger(logr.FromSlogHandler(quieter{Handler: log.With("component", "kubernetes").Handler()}))
}

// RunController runs the controllers and the local executor on an API until ctx ends. The API must
// serve the kind. RunController refuses to start if a tofu-controller is alive there.
func RunController(ctx context.Context, opts ControllerOptions) error {
	if err := opts.Web.check(); err != nil {
		return err
	}
	if err := checkAddress("--content-address", opts.ContentAddress, opts.AllowNonLoopback, opts.Log); err != nil {
		return err
	}
	for flag, address := range map[string]string{"--health-address": opts.HealthAddress, "--runner-address": opts.runnerAddress(), "--http-address": opts.HTTPAddress, "--registry-address": opts.Registry.listens(), "--call-home-address": opts.CallHome.Address} {
		if address == "" {
			continue
		}
		if err := checkAddress(flag, address, opts.AllowNonLoopback, opts.Log); err != nil {
			return err
		}
	}
	newNarrator(&opts.Common).say("Starting Yuba's controllers on %s", opts.DataDir)
	dir, lock, err := opts.open()
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // the end of the process releases, too
	direct, err := client.New(opts.Config, client.Options{Scheme: newScheme()})
	if err != nil {
		return fmt.Errorf("create the API's client: %w", err)
	}
	if err := opts.openKeys(ctx, direct, dir); err != nil {
		return err
	}
	t, err := opts.serverTool(ctx, dir)
	if err != nil {
		return err
	}
	if err := opts.checkCompany(ctx, direct); err != nil {
		return err
	}
	return opts.control(ctx, dir, t, direct)
}

// openKeys checks that the blobs are those of the keys, which replicas share.
func (opts *ControllerOptions) openKeys(ctx context.Context, c client.Client, dir datadir.Dir) error {
	ring, err := newKeyRing(c, opts.KeysSecret, dir)
	if err != nil {
		return err
	}
	if err := ring.take(ctx); err != nil {
		return err
	}
	// Before keys are made: keys without blobs look like a loss.
	if err := integrity.CheckBlobs(dir, opts.keepsBlobs()); err != nil {
		return err
	}
	return ring.give(ctx)
}

// keepsBlobs reports whether the blobs of earlier processes must be in the data directory.
func (opts *ControllerOptions) keepsBlobs() bool { return opts.BlobURL == "" && !opts.VolatileBlobs }

// serviceName is the name of the Service in its cluster; empty for none.
func (opts *ControllerOptions) serviceName() string {
	if opts.Service.Name == "" {
		return ""
	}
	return ServiceHost(opts.Service)
}

// checkCompany checks who else works on this API: it refuses to run beside some, and leaves the
// tenants to others.
func (opts *ControllerOptions) checkCompany(ctx context.Context, direct client.Client) (err error) {
	if err := refuseCompany(ctx, direct, time.Now()); err != nil {
		return err
	}
	if err := refuseOldKind(ctx, direct, opts.Log); err != nil {
		return err
	}
	opts.leaveTenants, err = tenantsOfOthers(ctx, direct, time.Now())
	return err
}

// control acquires the API and runs on it until ctx ends or the Lease is lost.
func (opts *ControllerOptions) control(ctx context.Context, dir datadir.Dir, t tool, direct client.Client) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := ctx
	health, err := serveHealth(opts.HealthAddress, opts.Log)
	if err != nil {
		return err
	}
	defer health.stop()
	ctx, release, err := opts.lead(ctx, direct, health, holder()+":"+string(dir))
	if err != nil {
		return err
	}
	defer release()
	// Only now: a replica may have waited for long.
	if err := opts.yieldToFlux(ctx, direct); err != nil {
		return err
	}
	e, certs, err := opts.startEngine(ctx, dir, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.stop(ctx, cancel)) }()
	err = e.serveCallHome(direct, func(names []string) (certificate, error) {
		c, err := openLeaf(certs.authority, filepath.Join(dir.Keys(), "call-home"), names)
		if err != nil {
			return nil, err
		}
		return c.get, nil
	})
	if err != nil {
		return err
	}
	// Before content is served, which makes links to the page.
	stopWeb, err := opts.openHTTP(ctx, e, health)
	if err != nil {
		return err
	}
	defer stopWeb()
	url, stop, err := e.serveContent(ctx, *opts, certs)
	if err != nil {
		return err
	}
	defer stop()
	if opts.Service.Name != "" {
		err = registerContent(ctx, direct, opts.Service, opts.ContentAddress, certs.authority.PEM())
	} else {
		err = publishContent(ctx, direct, url, certs.authority.PEM(), opts.Log)
	}
	if err != nil {
		return err
	}
	err = e.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return opts.watchLatecomers(ctx, direct, e.sourceKinds, latecomerCheck)
	}))
	if err != nil {
		return err
	}
	health.leads(e.manager.GetCache().WaitForCacheSync)
	go e.sayWorking(ctx, *opts, url)
	if err := e.manager.Start(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the controllers stopped: %w", err)
	}
	if asked.Err() == nil {
		return context.Cause(ctx)
	}
	return nil
}

// openHTTP serves browsers and webhooks, if there is an address for them.
func (opts *ControllerOptions) openHTTP(ctx context.Context, e *engine, health *health) (stop func(), err error) {
	if opts.HTTPAddress == "" {
		return func() {}, nil
	}
	var h hooks
	h.engine.Store(e)
	late := latePage{off: !opts.Web.Serve}
	web, listener, err := serveWeb(opts.HTTPAddress, opts.Connections.Share(15), func() string { return health.unready(ctx) }, &late, &h, opts.Log)
	if err != nil {
		return nil, err
	}
	stop = func() { web.Close() } //nolint:errcheck // the process ends
	if !opts.Web.Serve {
		return stop, nil
	}
	page, err := e.openWeb(opts.Config, listener.Addr().String(), opts.Web.AllowMasters)
	if err != nil {
		stop()
		return nil, err
	}
	late.Store(page)
	return stop, nil
}

// startEngine creates the engine and starts its runner. On an error it closes blobs, endpoint and
// tracer; the rest ends with ctx.
func (opts *ControllerOptions) startEngine(ctx context.Context, dir datadir.Dir, t tool) (_ *engine, certs *certificates, err error) {
	if err := os.MkdirAll(dir.Keys(), 0o700); err != nil {
		return nil, nil, fmt.Errorf("create the directory of keys: %w", err)
	}
	authority, err := pki.OpenAuthority(filepath.Join(dir.Keys(), serverAuthority), "yuba server", time.Now())
	if err != nil {
		return nil, nil, err
	}
	opts.authority = authority.PEM()
	e, err := newEngine(ctx, opts.Common, dir, opts.Config, t)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.release(context.WithoutCancel(ctx)))
		}
	}()
	if err := integrity.WriteBlobs(dir, opts.keepsBlobs()); err != nil {
		return nil, nil, err
	}
	if err := e.serveMetrics(ctx, opts.AllowNonLoopback); err != nil {
		return nil, nil, err
	}
	if certs, err = openCertificates(dir, opts.ContentAddress, opts.runnerHost(), opts.serviceName()); err != nil {
		return nil, nil, err
	}
	err = e.serveRegistry(func(names []string) (certificate, error) {
		c, err := openLeaf(certs.authority, filepath.Join(dir.Keys(), "registry"), names)
		if err != nil {
			return nil, err
		}
		return c.get, nil
	})
	if err != nil {
		return nil, nil, err
	}
	if err := e.startRunner(ctx, certs.get, certs.authority.PEM()); err != nil {
		return nil, nil, err
	}
	return e, certs, nil
}

// release closes the engine's resources.
func (e *engine) release(ctx context.Context) error {
	err := errors.Join(e.stopEndpoint(ctx), e.stopCallHome(), e.blobs.Close(), e.registry.close())
	e.stopTelemetry(ctx)
	return err
}

// stop drains the runner, ends the controllers, and saves undelivered notifications for the next
// server.
func (e *engine) stop(ctx context.Context, endControllers context.CancelFunc) error {
	e.narrator.stopping(e.queue(ctx))
	if e.pods == nil { // Pods stay for the next server
		e.drain()
	}
	endControllers()
	rest := context.WithoutCancel(ctx)
	e.keepNotifications(rest)
	return e.release(rest)
}

func (e *engine) sayWorking(ctx context.Context, opts ControllerOptions, url string) {
	if !e.manager.GetCache().WaitForCacheSync(ctx) {
		return
	}
	runs := fmt.Sprintf("  Tool:    %s (%s)\n%s", e.tool.path, e.tool.version, e.tool.wallLines("  %-8s %s\n"))
	if e.pods != nil {
		runs = fmt.Sprintf("  Runs:    in Pods of %s, at most %d\n", e.pods.Image, e.pods.Max)
	}
	fmt.Fprintf(opts.Out, "Yuba's controllers are ready\n  API:     %s\n  Content: %s\n%s", opts.Config.Host, url, runs)
	e.sayRegistry(opts.Out, "  %-9s %s\n")
	if opts.Ready != nil {
		opts.Ready(url)
	}
}

// tofuControllerLease is the suffix of the Lease of tofu-controller's leader election.
const tofuControllerLease = "1953de50.contrib.fluxcd.io"

// refuseCompany fails if a tofu-controller is alive on this API. Two controllers would plan and
// apply the same objects against each other.
func refuseCompany(ctx context.Context, c client.Client, now time.Time) error {
	why, err := runningTofuController(ctx, c, now)
	if err == nil && why != "" {
		err = errors.New(why)
	}
	return err
}

// runningTofuController says that a tofu-controller is alive on this API; empty if none is.
func runningTofuController(ctx context.Context, c client.Client, now time.Time) (string, error) {
	l, err := livingLeader(ctx, c, endsWith(tofuControllerLease), now)
	if err != nil {
		return "", fmt.Errorf("check for a running tofu-controller: %w", err)
	}
	if l == nil {
		return "", nil
	}
	return fmt.Sprintf("a tofu-controller is running on this API (%s). Both would work on the same stacks. Stop it first:\n"+
		"    kubectl -n %s scale deployment tofu-controller --replicas=0", leaderInWords(l, now), l.Namespace), nil
}

func endsWith(suffix string) func(string) bool {
	return func(name string) bool { return strings.HasSuffix(name, suffix) }
}

// livingLeader finds the renewed Lease of a controller by its name; nil if there is none.
func livingLeader(ctx context.Context, c client.Client, named func(string) bool, now time.Time) (*coordinationv1.Lease, error) {
	var leases coordinationv1.LeaseList
	if err := c.List(ctx, &leases); err != nil {
		return nil, err
	}
	for i := range leases.Items {
		l := &leases.Items[i]
		if !named(l.Name) || l.Spec.RenewTime == nil || l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
			continue
		}
		life := 35 * time.Second
		if s := l.Spec.LeaseDurationSeconds; s != nil {
			life = time.Duration(*s) * time.Second
		}
		if now.Before(l.Spec.RenewTime.Add(life)) {
			return l, nil
		}
	}
	return nil, nil
}

// leaderInWords describes a living leader.
func leaderInWords(l *coordinationv1.Lease, now time.Time) string {
	return fmt.Sprintf("%s, Lease %s/%s renewed %s ago", *l.Spec.HolderIdentity, l.Namespace, l.Name, now.Sub(l.Spec.RenewTime.Time).Round(time.Second))
}

// certificates are this server's own authority and serving certificate.
type certificates struct {
	authority *pki.Authority
	leaf      pki.Leaf
}

// certificateLife can be long: the process renews its certificate when a connection finds it two
// thirds old.
const certificateLife = 90 * 24 * time.Hour

func openCertificates(dir datadir.Dir, address string, more ...string) (*certificates, error) {
	hosts := []string{"localhost", endpointHost}
	for _, host := range append([]string{reachableHost(address)}, more...) {
		if host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	authority, err := pki.OpenAuthority(filepath.Join(dir.Keys(), serverAuthority), "yuba server", time.Now())
	if err != nil {
		return nil, err
	}
	return openLeaf(authority, filepath.Join(dir.Keys(), "server"), hosts)
}

// openLeaf keeps a certificate of the authority in BASE.crt and BASE.key.
func openLeaf(authority *pki.Authority, base string, hosts []string) (*certificates, error) {
	c := &certificates{authority: authority, leaf: pki.Leaf{Base: base, CommonName: "yuba", Hosts: hosts, Life: certificateLife}}
	_, err := c.get(nil)
	return c, err
}

func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if _, err := c.authority.Keep(c.leaf, time.Now()); err != nil {
		return nil, err
	}
	return c.leaf.Load()
}
