// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/controlplane/datadir"
	"k8s.io/client-go/rest"
)

// Options say which API to run.
type Options struct {
	// DataDir holds everything that outlives the process.
	DataDir string
	// Lock is the caller's lock on DataDir. Without one, Start takes the lock and Stop releases it.
	Lock *datadir.Lock
	// APIAddress is host:port to listen on; with port 0 the system chooses.
	APIAddress string
	// AdvertiseHosts are further names and addresses under which clients reach the API.
	AdvertiseHosts []string
	// Log gets what happens; slog.Default() when nil.
	Log *slog.Logger
	// Version is recorded in backups.
	Version string
	// CRDs holds the kinds to install, one or more YAML documents in each *.yaml file.
	CRDs fs.FS
	// Mount returns further handlers of the API server by path, a path that ends in "/" standing for everything below it.
	// They see authenticated and authorised requests and may take as long as they need.
	Mount func(*rest.Config) (map[string]http.Handler, error)

	// Tests make certificates short-lived and the store small.
	life                     lifetimes
	etcdQuota                int64
	etcdUpkeep, etcdProgress time.Duration
}

func (o *Options) complete() {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.APIAddress == "" {
		o.APIAddress = "127.0.0.1:7443"
	}
	if o.life == (lifetimes{}) {
		o.life = normalLifetimes
	}
}
