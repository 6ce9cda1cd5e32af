// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/gitops/notify/receive"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// world has this package and package receive, once for all tests.
type world struct {
	client   client.WithWatch
	recorder *Recorder
	hooks    *httptest.Server
	log      *proctest.Log
}

var shared struct {
	once  sync.Once
	world *world
	err   error
}

// start starts the world with the first test that needs it. It ends with the process.
func start(t *testing.T) *world {
	t.Helper()
	config := apitest.API(t).RESTConfig()
	shared.once.Do(func() {
		log := &proctest.Log{}
		logger := slog.New(slog.NewTextHandler(log, nil))
		ctrl.SetLogger(logr.FromSlogHandler(logger.Handler()))
		mgr, err := newManager(config)
		if shared.err = err; err != nil {
			return
		}
		api := mgr.GetEventRecorder("yuba")
		dir, err := os.MkdirTemp("", "yuba-notify-")
		if shared.err = err; err != nil {
			return
		}
		d := &Dispatcher{Client: mgr.GetClient(), Events: api, Dir: dir, Log: logger, Pause: 20 * time.Millisecond}
		d.Prepare()
		if shared.err = d.SetupWithManager(mgr); shared.err != nil {
			return
		}
		recorder := NewRecorder(api, mgr.GetScheme(), d.Offer)
		receivers := &receive.Receivers{Client: mgr.GetClient(), Events: recorder, Log: logger}
		if shared.err = receivers.SetupWithManager(context.Background(), mgr); shared.err != nil {
			return
		}
		go mgr.Start(context.Background())
		mgr.GetCache().WaitForCacheSync(context.Background())
		shared.world = &world{recorder: recorder, hooks: httptest.NewServer(receivers), log: log}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	w := *shared.world
	w.client = apitest.Client(t)
	return &w
}

// newManager returns a manager like the server's: no Secrets in its cache.
func newManager(config *rest.Config) (ctrl.Manager, error) {
	return ctrl.NewManager(config, ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}})
}

// create makes objects in the API.
func (w *world) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := w.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// events are the recorded events of an object: type, reason and note of each.
func (w *world) events(t *testing.T, kind string, o client.Object) []string {
	t.Helper()
	var list corev1.EventList
	if err := w.client.List(t.Context(), &list, client.InNamespace(o.GetNamespace())); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == o.GetName() {
			all = append(all, e.Type+" "+e.Reason+" "+e.Message)
		}
	}
	return all
}
