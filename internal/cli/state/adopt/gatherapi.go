// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// Scheme has the kinds that the report reads.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme, appsv1.AddToScheme,
		apiextensionsv1.AddToScheme, sourcev1.AddToScheme, infrav1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

const (
	// leaderLease is the end of the name of tofu-controller's Lease.
	leaderLease = "1953de50.contrib.fluxcd.io"
	// leaderLife is the duration of a Lease that does not name one.
	leaderLife = 35 * time.Second
	// siblingLease is the Lease of Yuba's controllers.
	siblingNamespace, siblingLease = "yuba-system", "yuba-controller"
	// kindName is the name of the CustomResourceDefinition.
	kindName = "terraforms.infra.contrib.fluxcd.io"
	// newestField is only in the status of Yuba's version of the kind.
	newestField = "currentRun"
)

// controllerNames are the app.kubernetes.io/name of tofu-controller's Deployments, newer first.
var controllerNames = []string{"tofu-controller", "tf-controller"}

func (g *gatherer) api(ctx context.Context) APIFacts {
	f := APIFacts{SourceHosts: g.hosts}
	unknown := func(what string, err error) {
		if err != nil && !apimeta.IsNoMatchError(err) {
			f.Unknown = append(f.Unknown, fmt.Sprintf("Cannot check %s: %v", what, err))
		}
	}
	unknown("whether tofu-controller's Deployment runs", g.controllers(ctx, &f))
	unknown("whether tofu-controller is alive", g.leaders(ctx, &f))
	unknown("whether the kind has all of Yuba's fields", g.kind(ctx, &f))
	return f
}

func (g *gatherer) controllers(ctx context.Context, f *APIFacts) error {
	var deployments appsv1.DeploymentList
	if err := g.client.List(ctx, &deployments); err != nil {
		return err
	}
	f.Controllers = running(deployments.Items)
	return nil
}

func running(deployments []appsv1.Deployment) []Workload {
	var found []Workload
	for _, d := range deployments {
		for _, name := range controllerNames {
			if d.Labels["app.kubernetes.io/name"] != name && d.Name != name {
				continue
			}
			if want := d.Spec.Replicas; want == nil || *want > 0 {
				found = append(found, Workload{d.Namespace, d.Name, ui.Count(int(d.Status.ReadyReplicas), "ready Pod")})
			}
			break
		}
	}
	return found
}

func (g *gatherer) leaders(ctx context.Context, f *APIFacts) error {
	var leases coordinationv1.LeaseList
	if err := g.client.List(ctx, &leases); err != nil {
		return err
	}
	for _, l := range leases.Items {
		switch {
		case !g.alive(&l):
		case strings.HasSuffix(l.Name, leaderLease):
			f.Leaders = append(f.Leaders, Workload{l.Namespace, l.Name, *l.Spec.HolderIdentity})
		case l.Namespace == siblingNamespace && l.Name == siblingLease:
			f.Yuba = *l.Spec.HolderIdentity
		}
	}
	return nil
}

// alive reports whether a Lease has a holder that renewed it in time.
func (g *gatherer) alive(l *coordinationv1.Lease) bool {
	if l.Spec.RenewTime == nil || l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
		return false
	}
	life := leaderLife
	if s := l.Spec.LeaseDurationSeconds; s != nil {
		life = time.Duration(*s) * time.Second
	}
	return g.now.Before(l.Spec.RenewTime.Add(life))
}

func (g *gatherer) kind(ctx context.Context, f *APIFacts) error {
	var kind apiextensionsv1.CustomResourceDefinition
	if err := g.client.Get(ctx, client.ObjectKey{Name: kindName}, &kind); err != nil {
		return err
	}
	f.KindIsOlder = isOlder(&kind)
	return nil
}

func isOlder(kind *apiextensionsv1.CustomResourceDefinition) bool {
	for _, version := range kind.Spec.Versions {
		if version.Name == infrav1.GroupVersion.Version && version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
			_, has := version.Schema.OpenAPIV3Schema.Properties["status"].Properties[newestField]
			return !has
		}
	}
	return true
}
