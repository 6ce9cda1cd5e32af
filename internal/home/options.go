// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"cmp"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/integrity"
	"github.com/yuba-dev/yuba/internal/kit/listener"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Options configure the API.
type Options struct {
	// DataDir holds everything that outlives the process.
	DataDir string
	// Lock is the caller's lock on DataDir. If it is nil, Start takes the lock and Stop releases
	// it.
	Lock *datadir.Lock
	// BlobsHere is true if blobs are stored below DataDir.
	BlobsHere bool
	// AcceptLoss lists the lost parts that Start may give up. Without it, Start refuses a damaged
	// directory.
	AcceptLoss []integrity.Loss
	// AuditLog is the file for records of requests: "-" for standard output, empty for none.
	// AuditPolicy is a file with a Kubernetes audit policy that replaces Yuba's own.
	AuditLog, AuditPolicy string
	// AuthenticationConfig is a file with a Kubernetes AuthenticationConfiguration, which lists
	// token issuers; empty for none. Changes are reloaded.
	AuthenticationConfig string
	// ServiceAccountIssuer is the URL at which others find the keys of service account tokens; empty
	// for the name of the API in a cluster, at which nobody finds them.
	ServiceAccountIssuer string
	// TenantQuota limits the objects in a namespace that a Tenant created, if the namespace has no
	// quota of its own. Empty means no limits.
	TenantQuota corev1.ResourceList
	// APIAddress is the host:port to listen on. With port 0 the system chooses the port.
	APIAddress string
	// AdvertiseHosts are additional names and addresses at which clients reach the API.
	AdvertiseHosts []string
	// Connections limits connections to the API. The default is half of what this process may open.
	Connections listener.Limits
	// Log receives log records; slog.Default() if nil.
	Log *slog.Logger
	// Version is recorded in backups.
	Version string
	// CRDs holds *.yaml files with the kinds to install, one or more documents each.
	CRDs fs.FS
	// Mount returns further handlers by path. A path that ends in "/" covers everything below it.
	// The handlers receive authenticated and authorised requests, without a time limit.
	Mount func(*rest.Config) (map[string]http.Handler, error)
	// Mounted are the resources of GroupVersion that the handlers serve and discovery lists.
	Mounted metav1.APIResourceList

	// anonymousByFile is true if AuthenticationConfig decides about anonymous requests.
	anonymousByFile bool

	// Tests set these to get short-lived certificates, short timeouts and a small store.
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
	o.Log = cmp.Or(o.Log, slog.Default())
	o.APIAddress = cmp.Or(o.APIAddress, "127.0.0.1:7443")
	o.bodyTime = cmp.Or(o.bodyTime, bodyTime)
	o.life = cmp.Or(o.life, normalLifetimes)
	return nil
}
