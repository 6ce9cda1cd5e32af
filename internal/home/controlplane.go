// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/home/backup"
	"github.com/yuba-dev/yuba/internal/home/controllers"
	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/etcd"
	"github.com/yuba-dev/yuba/internal/home/install"
	"github.com/yuba-dev/yuba/internal/home/integrity"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	"k8s.io/client-go/rest"
)

// ControlPlane is a running embedded API.
type ControlPlane struct {
	options Options
	dir     datadir.Dir
	// lock is set if Start took it.
	lock     *datadir.Lock
	listener *listener.Listener
	keys     *keys
	// store is what integrity.Check found.
	store       etcd.Facts
	etcd        *etcd.Server
	api         *apiServer
	controllers *controllers.Set

	stopAPI    context.CancelFunc
	apiStopped chan struct{}
	stopKeys   context.CancelFunc
	background sync.WaitGroup

	ended sync.Once
	done  chan struct{}
	err   error
}

// Start starts the API in the data directory and returns when it is ready. The context limits the
// start only.
func Start(ctx context.Context, options Options) (_ *ControlPlane, err error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	logKubernetesTo(options.Log)
	p := &ControlPlane{options: options, done: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
		}
	}()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"open the data directory", p.openDirectory},
		{"check the data directory", p.checkDirectory},
		{"listen", p.listen},
		{"start etcd", p.startEtcd},
		{"start the API server", p.startAPI},
		{"install kinds and roles", p.install},
		{"start controllers", p.startControllers},
		{"become ready", p.becomeReady},
		{"write the kubeconfig", p.openDoor},
	} {
		began := time.Now()
		if err := step.do(ctx); err != nil {
			return nil, err
		}
		options.Log.Debug("control plane: "+step.name, "took", time.Since(began))
	}
	kubernetesCalm.Store(true)
	// Starting needs twice the memory of running. Return it now rather than in minutes.
	go debug.FreeOSMemory()
	return p, nil
}

// openDirectory locks the data directory and finishes a pending restore.
func (p *ControlPlane) openDirectory(context.Context) (err error) {
	if p.dir, err = datadir.Open(p.options.DataDir); err != nil {
		return err
	}
	if p.options.Lock == nil {
		if p.lock, err = p.dir.Lock(); err != nil {
			return err
		}
	}
	return backup.ApplyPending(p.dir, p.options.Log)
}

// checkDirectory refuses a data directory with missing or damaged parts, unless the user accepted
// that loss.
func (p *ControlPlane) checkDirectory(context.Context) (err error) {
	if err := integrity.Accept(p.dir, p.options.BlobsHere, p.options.AcceptLoss, p.options.Log); err != nil {
		return err
	}
	p.store, err = integrity.Check(p.dir, p.options.BlobsHere)
	return err
}

func (p *ControlPlane) listen(context.Context) error {
	inner, err := listen(p.options.APIAddress)
	if err != nil {
		return err
	}
	p.listener = listener.New(inner, p.options.Connections)
	lock := p.options.Lock
	if lock == nil {
		lock = p.lock
	}
	return lock.Announce(p.Address())
}

func (p *ControlPlane) startEtcd(ctx context.Context) (err error) {
	hosts := servingHosts(p.listener, p.options.AdvertiseHosts)
	if p.keys, err = openKeys(p.dir, hosts, p.options.life); err != nil {
		return err
	}
	p.etcd, err = etcd.Start(ctx, etcd.Options{
		Dir: p.dir.Etcd(), Facts: p.store, Token: rand.Text(), TLS: p.keys.etcdTLS(), Log: p.options.Log,
		Quota: p.options.etcdQuota, UpkeepEvery: p.options.etcdUpkeep, ProgressEvery: p.options.etcdProgress,
	})
	return err
}

func (p *ControlPlane) startAPI(ctx context.Context) (err error) {
	// Stop ends the server, not the context of Start.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stopAPI, p.apiStopped = stop, make(chan struct{})
	p.api, err = newAPIServer(running, p.keys, p.etcd.Endpoint(), door{p.listener, p.options.bodyTime}, p.options)
	if err != nil {
		close(p.apiStopped)
		return err
	}
	go func() {
		defer close(p.apiStopped)
		err := p.api.run(running)
		if err == nil && running.Err() == nil {
			err = errors.New("the API server stopped unexpectedly")
		}
		p.end(err)
	}()
	go func() {
		<-p.etcd.Done()
		if running.Err() == nil {
			p.end(errors.New("etcd stopped unexpectedly"))
		}
	}()
	return p.whileRunning(ctx, func(ctx context.Context) error { return answering(ctx, p.RESTConfig()) })
}

func (p *ControlPlane) install(ctx context.Context) error {
	return p.whileRunning(ctx, func(ctx context.Context) error {
		var roles error
		var both sync.WaitGroup
		both.Go(func() { roles = install.Roles(ctx, p.RESTConfig()) })
		kinds := install.Kinds(ctx, p.RESTConfig(), p.options.CRDs)
		both.Wait()
		return errors.Join(roles, kinds)
	})
}

// startControllers starts the controllers. They need complete discovery.
func (p *ControlPlane) startControllers(ctx context.Context) (err error) {
	p.controllers, err = controllers.Start(ctx, controllers.Options{
		Config: p.RESTConfig(), TokenKey: p.keys.serviceAccountKey(), CA: p.keys.api.PEM(),
		TenantQuota: p.options.TenantQuota,
	})
	return err
}

func (p *ControlPlane) becomeReady(ctx context.Context) error {
	return p.whileRunning(ctx, func(ctx context.Context) error { return complete(ctx, p.RESTConfig()) })
}

// openDoor writes the administrator's kubeconfig and keeps the certificates renewed.
func (p *ControlPlane) openDoor(ctx context.Context) error {
	if err := p.keys.writeKubeconfig(p.URL()); err != nil {
		return err
	}
	if err := p.Record(); err != nil {
		return err
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stopKeys = stop
	p.background.Go(func() { p.keys.keepRenewing(renewing, p.URL(), p.options.Log) })
	return nil
}

// Record records which parts of the data directory belong together, so that the next start notices
// when one is missing. Call it again after creating a part, such as the blobs and their key.
func (p *ControlPlane) Record() error {
	return integrity.Write(p.dir, p.etcd.Cluster(), p.options.BlobsHere)
}

// whileRunning runs one part of the start and gives up if the API ends meanwhile.
func (p *ControlPlane) whileRunning(ctx context.Context, part func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.done:
			cancel(p.err)
		case <-ctx.Done():
		}
	}()
	err := part(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return errors.Join(cause, err)
	}
	return err
}

// end records the first reason why the API stopped.
func (p *ControlPlane) end(err error) {
	p.ended.Do(func() {
		p.err = err
		close(p.done)
	})
}

// Done is closed when the API has stopped, because of Stop or of a failure.
func (p *ControlPlane) Done() <-chan struct{} { return p.done }

// Err returns, after Done, why the API stopped; nil after Stop.
func (p *ControlPlane) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// grace is the time that requests in flight have to end once the API stops. Watches never end, so
// they are cut off then.
const grace = 2 * time.Second

// Stop stops the API in the reverse order of its start. It cuts off requests that still run after a
// grace period of two seconds.
func (p *ControlPlane) Stop(ctx context.Context) error {
	kubernetesCalm.Store(false)
	if p.stopKeys != nil {
		p.stopKeys()
		p.background.Wait()
	}
	var failure error
	if p.stopAPI != nil {
		p.stopAPI()
		if p.controllers != nil {
			p.controllers.Stop()
		}
		failure = p.waitForAPI(ctx)
	}
	if p.listener != nil {
		// The API server has closed it already, unless it never started serving.
		_ = p.listener.Close()
	}
	if p.etcd != nil {
		p.etcd.Stop()
	}
	if p.lock != nil {
		failure = errors.Join(failure, p.lock.Release())
	}
	p.end(nil)
	return failure
}

func (p *ControlPlane) waitForAPI(ctx context.Context) error {
	select {
	case <-p.apiStopped:
		return nil
	case <-time.After(grace):
	case <-ctx.Done():
	}
	p.listener.HangUp()
	select {
	case <-p.apiStopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop the API server: requests are still running: %w", ctx.Err())
	}
}

// RESTConfig returns administrator access for parts of this process, without a rate limit.
func (p *ControlPlane) RESTConfig() *rest.Config { return p.api.clientConfig() }

// Trouble says why the API refuses changes and what to do about it. It is empty while the API
// accepts them.
func (p *ControlPlane) Trouble() string { return p.etcd.Trouble() }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (p *ControlPlane) Kubeconfig() string { return p.dir.Kubeconfig() }

// Address returns the host:port that the API listens on.
func (p *ControlPlane) Address() string { return p.listener.Addr().String() }

// CA returns the PEM certificate that clients of the API and of certificates from IssueServerCert
// trust.
func (p *ControlPlane) CA() []byte { return p.keys.api.PEM() }

// URL returns the address of the API for clients.
func (p *ControlPlane) URL() string {
	host, port := reachable(p.listener)
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// IssueServerCert returns the self-renewing certificate of another server of this process, stored
// under the given name, as a GetCertificate function of tls.Config.
func (p *ControlPlane) IssueServerCert(name string, hosts []string) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	certificate, err := p.keys.issue(name, hosts)
	if err != nil {
		return nil, fmt.Errorf("issue the certificate of %s: %w", name, err)
	}
	return certificate.get, nil
}

// Backup writes everything that outlives the process into one archive while the API runs. The
// archive contains the keys: protect it like the data directory.
func (p *ControlPlane) Backup(ctx context.Context, w io.Writer) error {
	snapshot := p.etcd.Snapshot()
	defer snapshot.Close()
	return backup.Write(ctx, w, p.dir, snapshot, backup.Origin{Version: p.options.Version, Created: time.Now().UTC()})
}
