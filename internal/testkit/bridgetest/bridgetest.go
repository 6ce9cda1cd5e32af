// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package bridgetest runs the controllers of contracts and bridges on the embedded API of a test binary.
package bridgetest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/contracts/bridge"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// Start starts the controllers. They last as long as the API, so a test binary calls it once. change adapts
// the controller of bridges.
func Start(t testing.TB, wake func(types.NamespacedName), change ...func(*bridge.Reconciler)) (*contracts.Book, error) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(apitest.API(t).Kubeconfig()), "bridges-")
	if err != nil {
		return nil, err
	}
	key, err := blob.LoadOrCreateKey(filepath.Join(dir, "key"))
	if err != nil {
		return nil, err
	}
	ctx := context.Background() // not that of one test
	blobs, err := blob.Open(ctx, "file://"+dir+"/blobs", key)
	if err != nil {
		return nil, err
	}
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(apitest.API(t).RESTConfig(), ctrl.Options{Scheme: kubetest.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	if err := contracts.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	book := &contracts.Book{Cache: mgr.GetCache(), Store: &revisions.Store{Blobs: blobs}, Elsewhere: bridge.Elsewhere(mgr.GetCache())}
	log := slog.New(slog.DiscardHandler)
	keeper := &contracts.Keeper{Book: book, Client: mgr.GetClient(), Wake: wake, Events: mgr.GetEventRecorder("yuba"), Now: time.Now, Log: log}
	if err := keeper.SetupWithManager(mgr); err != nil {
		return nil, err
	}
	r := &bridge.Reconciler{Book: book, Client: mgr.GetClient(), Direct: apitest.Client(t), Wake: wake, Events: mgr.GetEventRecorder("yuba"), Now: time.Now, Log: log}
	for _, c := range change {
		c(r)
	}
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		return nil, err
	}
	go mgr.Start(ctx) //nolint:errcheck // it ends with the test binary
	return book, nil
}
