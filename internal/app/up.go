// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/home"
	"github.com/yuba-dev/yuba/internal/home/backup"
	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/integrity"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/kit/memory"
)

// UpOptions configure the embedded home.
type UpOptions struct {
	Common
	// APIAddress and HTTPAddress are the host:port to listen on.
	APIAddress  string
	HTTPAddress string
	// APIHosts are additional names and addresses in the API's certificate.
	APIHosts []string
	// AllowNonLoopback allows addresses that other machines can reach.
	AllowNonLoopback bool
	// AcceptLoss lists lost parts of the data directory that Up may give up.
	AcceptLoss []integrity.Loss
	// AuditLog and AuditPolicy are as in home.Options.
	AuditLog, AuditPolicy string
	// AuthenticationConfig and ServiceAccountIssuer are as in home.Options.
	AuthenticationConfig string
	ServiceAccountIssuer string
	// TenantQuota limits a namespace that a Tenant created and that has no quota.
	TenantQuota corev1.ResourceList
	// Ready is called each time Yuba becomes ready; may be nil.
	Ready func(Addresses)
}

// Addresses are the addresses of a running Yuba.
type Addresses struct {
	API, HTTP, Kubeconfig string
}

// Up runs Yuba on its embedded control plane until ctx ends. It restarts itself after a restored
// backup.
func Up(ctx context.Context, opts UpOptions) error {
	if err := opts.Web.check(); err != nil {
		return err
	}
	for name, address := range map[string]string{"--api-address": opts.APIAddress, "--http-address": opts.HTTPAddress, "--registry-address": opts.Registry.listens(), "--call-home-address": opts.CallHome.Address} {
		if address == "" {
			continue
		}
		if err := checkAddress(name, address, opts.AllowNonLoopback, opts.Log); err != nil {
			return err
		}
	}
	if err := home.CheckAuthenticationConfig(opts.AuthenticationConfig); err != nil {
		return err
	}
	newNarrator(&opts.Common).say("Starting Yuba on %s. Ctrl-C stops it", opts.DataDir)
	memory.KeepSmall()
	dir, lock, err := opts.open()
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // the end of the process releases, too
	if err := opts.useBundle(ctx, dir.Bundle()); err != nil {
		return err
	}
	opts.AllowBreakTheGlass, opts.GitOps, opts.LoneServer = true, true, true
	t, err := confinedTool(ctx, &opts.Common, dir)
	if err != nil {
		return err
	}
	for {
		again, err := upOnce(ctx, opts, dir, lock, t)
		if err != nil || !again {
			return err
		}
		opts.Log.Info("restarting with the restored data")
	}
}

// open opens and locks the data directory, and counts the connections that the process may have.
func (o *Common) open() (datadir.Dir, *datadir.Lock, error) {
	dir, err := datadir.Open(o.DataDir)
	if err != nil {
		return dir, nil, err
	}
	if o.Connections, err = listener.NewBudget(); err != nil {
		return dir, nil, err
	}
	lock, err := dir.Lock()
	return dir, lock, err
}

// life is one embedded home from its start to its stop or restore.
type life struct {
	opts    UpOptions
	plane   *home.ControlPlane
	engine  *engine
	web     *http.Server
	ready   atomic.Bool
	content atomic.Pointer[http.ServeMux]
	page    latePage
	hooks   hooks
	// restored is closed when a staged backup waits to be restored.
	restored chan struct{}
}

func upOnce(ctx context.Context, opts UpOptions, dir datadir.Dir, lock *datadir.Lock, t tool) (again bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &life{opts: opts, restored: make(chan struct{})}
	web, webListener, err := serveWeb(opts.HTTPAddress, opts.Connections.Share(15), h.unready, &h.page, &h.hooks, opts.Log)
	if err != nil {
		return false, err
	}
	h.web = web
	defer func() { err = errors.Join(err, h.stop(context.WithoutCancel(ctx), cancel)) }()
	if err := h.start(ctx, dir, lock, t, webListener.Addr().String()); err != nil {
		return false, err
	}
	managed := make(chan error, 1)
	go func() { managed <- h.engine.manager.Start(ctx) }()
	if !h.engine.manager.GetCache().WaitForCacheSync(ctx) && ctx.Err() == nil {
		return false, errors.New("the controllers' caches were not filled")
	}
	h.ready.Store(true)
	h.sayReady(webListener.Addr().String())
	settled := time.AfterFunc(settling, func() { shrink(opts.Log) })
	defer settled.Stop()
	select {
	case <-ctx.Done():
		return false, nil
	case <-h.restored:
		return true, nil
	case <-h.plane.Done():
		return false, fmt.Errorf("the control plane stopped: %w", h.plane.Err())
	case err := <-managed:
		if ctx.Err() != nil {
			return false, nil
		}
		return false, fmt.Errorf("the controllers stopped: %w", err)
	}
}

// unready says why Yuba is not ready, or not healthy; empty if it is.
func (h *life) unready() string {
	if !h.ready.Load() {
		return "starting"
	}
	return h.plane.Trouble()
}

// settling is how long the parts may continue to read and build after Yuba is ready.
const settling = 5 * time.Second

// shrink returns the memory that the start used.
func shrink(log *slog.Logger) {
	if err := memory.Shrink(); err != nil {
		log.Debug("cannot return memory to the system", "error", err)
	}
}

func (h *life) start(ctx context.Context, dir datadir.Dir, lock *datadir.Lock, t tool, webAddress string) (err error) {
	h.plane, err = home.Start(ctx, home.Options{
		DataDir: string(dir), Lock: lock, APIAddress: h.opts.APIAddress, Log: h.opts.Log.With("component", "api"),
		Version: h.opts.Version, CRDs: crd.Embedded, Mount: h.mount,
		Mounted: metav1.APIResourceList{GroupVersion: content.Group + "/" + content.Version, APIResources: content.Resources}, Connections: h.opts.Connections.Share(45),
		BlobsHere: h.opts.BlobURL == "", AcceptLoss: h.opts.AcceptLoss,
		AuditLog: h.opts.AuditLog, AuditPolicy: h.opts.AuditPolicy, TenantQuota: h.opts.TenantQuota,
		AuthenticationConfig: h.opts.AuthenticationConfig, ServiceAccountIssuer: h.opts.ServiceAccountIssuer, AdvertiseHosts: h.opts.APIHosts,
	})
	if err != nil {
		return err
	}
	h.opts.authority = h.plane.CA()
	if h.engine, err = newEngine(ctx, h.opts.Common, dir, h.plane.RESTConfig(), t); err != nil {
		return err
	}
	// The blobs and their key exist now.
	if err := h.plane.Record(); err != nil {
		return err
	}
	if err := h.engine.serveMetrics(ctx, h.opts.AllowNonLoopback); err != nil {
		return err
	}
	cert, err := h.plane.IssueServerCert("runs", []string{endpointHost})
	if err != nil {
		return err
	}
	if err := h.engine.startRunner(ctx, cert, h.plane.CA()); err != nil {
		return err
	}
	err = h.engine.serveRegistry(func(names []string) (certificate, error) { return h.plane.IssueServerCert("registry", names) })
	if err != nil {
		return err
	}
	direct, err := client.New(h.plane.RESTConfig(), client.Options{Scheme: newScheme()})
	if err != nil {
		return fmt.Errorf("create the API's client: %w", err)
	}
	if err := h.engine.serveCallHome(direct, func(names []string) (certificate, error) { return h.plane.IssueServerCert("call-home", names) }); err != nil {
		return err
	}
	c := h.engine.content
	c.ArchiveURL = h.plane.URL()
	c.Backup = h.plane.Backup
	c.Server = func(ctx context.Context) content.ServerInfo {
		info := h.engine.info(ctx)
		info.Trouble = h.plane.Trouble()
		return info
	}
	c.Restore = func(_ context.Context, r io.Reader) error {
		if _, err := backup.Stage(dir, r); err != nil {
			return err
		}
		close(h.restored)
		return nil
	}
	page, err := h.engine.openWeb(h.plane.RESTConfig(), webAddress, true)
	if err != nil {
		return err
	}
	h.page.Store(page)
	h.content.Store(c.ServeMux())
	h.hooks.engine.Store(h.engine)
	return nil
}

// mount serves content below the API server. Until the engine exists it responds that Yuba is
// starting.
func (h *life) mount(*rest.Config) (map[string]http.Handler, error) {
	return map[string]http.Handler{content.PathPrefix + "/": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux := h.content.Load()
		if mux == nil {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Yuba is starting", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	})}, nil
}

func (h *life) sayReady(httpAddress string) {
	a := Addresses{API: h.plane.URL(), HTTP: "http://" + httpAddress, Kubeconfig: h.plane.Kubeconfig()}
	fmt.Fprintf(h.opts.Out, "Yuba is ready\n  Page:       %s (yuba web opens it)\n  API:        %s\n  Webhooks:   %s\n  Kubeconfig: %s\n  Tool:       %s (%s)\n%s",
		a.HTTP, a.API, a.HTTP, a.Kubeconfig, h.engine.tool.path, h.engine.tool.version, h.engine.tool.wallLines("  %-11s %s\n"))
	h.engine.sayRegistry(h.opts.Out, "  %-11s %s\n")
	if h.opts.Ready != nil {
		h.opts.Ready(a)
	}
}

// startsOver reports whether a staged backup waits to be restored.
func (h *life) startsOver() bool {
	select {
	case <-h.restored:
		return true
	default:
		return false
	}
}

// stopTimeout limits the stop of all parts.
const stopTimeout = 20 * time.Second

// stop ends the parts in the reverse order: queue, controllers, endpoint, API.
func (h *life) stop(ctx context.Context, cancel context.CancelFunc) error {
	ctx, done := context.WithTimeout(ctx, stopTimeout)
	defer done()
	h.ready.Store(false)
	var errs []error
	if h.engine != nil {
		if !h.startsOver() {
			h.engine.narrator.stopping(h.engine.queue(ctx))
		}
		h.engine.drain()
	}
	cancel()
	if h.engine != nil {
		h.engine.keepNotifications(ctx)
		errs = append(errs, h.engine.stopEndpoint(ctx))
		h.engine.stopTelemetry(ctx)
	}
	if h.plane != nil {
		errs = append(errs, h.plane.Stop(ctx))
	}
	if h.engine != nil {
		errs = append(errs, h.engine.stopCallHome(), h.engine.blobs.Close(), h.engine.registry.close())
	}
	errs = append(errs, h.web.Close())
	return errors.Join(errs...)
}

// Runs reports whether a Yuba uses the data directory. It changes nothing.
func Runs(dataDir string) (bool, error) {
	if _, err := os.Stat(dataDir); err != nil {
		return false, fmt.Errorf("check whether a Yuba runs on %s: %w", dataDir, err)
	}
	return datadir.Dir(dataDir).Held()
}

// StageRestore verifies a backup and stages it in an unused data directory for the next start.
func StageRestore(dataDir string, archive io.Reader) (err error) {
	if err := datadir.Dir(dataDir).CheckOwner(); err != nil {
		return err
	}
	dir, err := datadir.Open(dataDir)
	if err != nil {
		return err
	}
	lock, err := dir.Lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	_, err = backup.Stage(dir, archive)
	return err
}

// checkAddress refuses addresses that other machines can reach, unless they are allowed.
func checkAddress(flag, address string, allowed bool, log *slog.Logger) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s %q: expected HOST:PORT: %w", flag, address, err)
	}
	if host == "localhost" || net.ParseIP(host) != nil && net.ParseIP(host).IsLoopback() {
		return nil
	}
	if !allowed {
		return fmt.Errorf("%s %s: other machines could reach this address. To allow that, add --allow-non-loopback", flag, address)
	}
	log.Warn("other machines can reach this address", "flag", flag, "address", address)
	return nil
}
