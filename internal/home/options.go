// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/integrity"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// Options say which API to run.
type Options struct {
	// DataDir holds everything that outlives the process.
	DataDir string
	// Lock is the caller's lock on DataDir. Without one, Start takes the lock and Stop releases it.
	Lock *datadir.Lock
	// BlobsHere: blobs are kept below DataDir.
	BlobsHere bool
	// AcceptLoss names what may be given up when it is lost; by default such a start is refused.
	AcceptLoss []integrity.Loss
	// AuditLog is a file for records of requests, "-" for standard output, empty for none; AuditPolicy is a file with an audit
	// policy of Kubernetes in place of Yuba's own.
	AuditLog, AuditPolicy string
	// AuthenticationConfig is a file with an AuthenticationConfiguration of Kubernetes, which names issuers of tokens; empty for
	// none. It is read again when it changes.
	AuthenticationConfig string
	// TenantQuota is what a namespace that a Tenant made may hold when it has no quota; no limits when empty.
	TenantQuota corev1.ResourceList
	// APIAddress is host:port to listen on; with port 0 the system chooses.
	APIAddress string
	// AdvertiseHosts are further names and addresses under which clients reach the API.
	AdvertiseHosts []string
	// Connections bound those to the API; half of what this process may have by default.
	Connections listener.Limits
	// Log gets what happens; slog.Default() when nil.
	Log *slog.Logger
	// Version is recorded in backups.
	Version string
	// CRDs holds the kinds to install, one or more YAML documents in each *.yaml file.
	CRDs fs.FS
	// Mount returns further handlers of the API server by path, a path that ends in "/" standing for everything below it.
	// They see authenticated and authorised requests and may take as long as they need.
	Mount func(*rest.Config) (map[string]http.Handler, error)

	// anonymousByFile: AuthenticationConfig says who may come without credentials.
	anonymousByFile bool

	// Tests make certificates short-lived, bodies impatient and the store small.
	bodyTime                 time.Duration
	life                     lifetimes
	etcdQuota                int64
	etcdUpkeep, etcdProgress time.Duration
}

func (o *Options) complete() (err error) {
	if o.Connections == (listener.Limits{}) {
		budget, err := listener.NewBudget()
		if err != nil {
			return err
		}
		o.Connections = budget.Share(50)
	}
	if o.anonymousByFile, err = anonymousIsSet(o.AuthenticationConfig); err != nil {
		return err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.APIAddress == "" {
		o.APIAddress = "127.0.0.1:7443"
	}
	if o.bodyTime == 0 {
		o.bodyTime = bodyTime
	}
	if o.life == (lifetimes{}) {
		o.life = normalLifetimes
	}
	return nil
}
