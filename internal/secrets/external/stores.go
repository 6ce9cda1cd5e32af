// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/secrets/external/turns"
)

// regionRE and locationRE are the names of regions, which become a part of a host's name.
var (
	regionRE   = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]{1,2}$`)
	locationRE = regexp.MustCompile(`^[a-z][a-z0-9-]{1,40}$`)
)

// usual is how often a store is checked that says nothing, and failing how often one that failed.
const (
	usual   = 5 * time.Minute
	failing = 30 * time.Second
)

// setupStores starts the controllers of stores.
func (r *Reconciler) setupStores(mgr ctrl.Manager) error {
	for _, kind := range []struct {
		object client.Object
		list   client.ObjectList
		name   string
		absent bool
	}{
		{&externalv1.SecretStore{}, &externalv1.SecretStoreList{}, "secretstore", false},
		{&externalv1.ClusterSecretStore{}, &externalv1.ClusterSecretStoreList{}, "clustersecretstore", r.Namespaced},
	} {
		if kind.absent {
			continue
		}
		b := ctrl.NewControllerManagedBy(mgr).Named(kind.name).For(kind.object, builder.WithPredicates(reconciling.Triggers()))
		for _, of := range []string{"Secret", "ConfigMap"} {
			b = b.WatchesMetadata(metadataOf(of), handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
				return reconciling.Find(ctx, r.Client, r.Log, kind.list.DeepCopyObject().(client.ObjectList), indexCredentials, of+"/"+o.GetNamespace()+"/"+o.GetName()) //nolint:forcetypeassert // a copy of one
			}))
		}
		check := func(ctx context.Context, req ctrl.Request, ask turns.Ask) (ctrl.Result, error) {
			return r.checkStore(ctx, req, kind.object.DeepCopyObject().(client.Object), ask) //nolint:forcetypeassert // a copy of one
		}
		t := turns.New()
		if err := b.WatchesRawSource(t.Source()).WithOptions(reconciling.Options(turns.Workers)).Complete(t.Fair(check)); err != nil {
			return fmt.Errorf("set up the controller of %ss: %w", kind.name, err)
		}
	}
	return nil
}

// statusOf and specOf are the parts of a store of either kind.
func statusOf(o client.Object) *externalv1.SecretStoreStatus {
	if s, ok := o.(*externalv1.ClusterSecretStore); ok {
		return &s.Status
	}
	return &o.(*externalv1.SecretStore).Status //nolint:forcetypeassert // there are two kinds
}

func specOf(o client.Object) *externalv1.SecretStoreSpec {
	if s, ok := o.(*externalv1.ClusterSecretStore); ok {
		return &s.Spec
	}
	return &o.(*externalv1.SecretStore).Spec //nolint:forcetypeassert // there are two kinds
}

// checkStore writes the condition of a store, when it is its turn.
func (r *Reconciler) checkStore(ctx context.Context, req ctrl.Request, o client.Object, ask turns.Ask) (ctrl.Result, error) {
	if err := r.Client.Get(ctx, req.NamespacedName, o); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if left, err := r.leaves(ctx); left || err != nil {
		return ctrl.Result{RequeueAfter: usual}, err
	}
	spec, status := specOf(o), statusOf(o)
	if !slices.Contains(ours, spec.Controller) {
		return ctrl.Result{}, nil
	}
	if !ask(req.String()) {
		return ctrl.Result{}, nil
	}
	before := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy of one
	clusterWide := o.GetNamespace() == ""
	c := credentials{r: r, namespace: o.GetNamespace(), clusterWide: clusterWide, absent: clusterWide}
	next := usual
	if spec.RefreshInterval > 0 {
		next = time.Duration(spec.RefreshInterval) * time.Second
	}
	condition := externalv1.Condition{Type: externalv1.ConditionReady, Status: corev1.ConditionTrue, Reason: externalv1.ReasonStoreValid, Message: "store validated", LastTransitionTime: metav1.NewTime(r.Now())}
	fail := func(reason string, err error) {
		condition.Status, condition.Reason, condition.Message = corev1.ConditionFalse, reason, shorten.Fit(err.Error(), maxMessage)
	}
	s, err := c.open(ctx, spec)
	switch {
	case errors.Is(err, errReferent):
		condition.Message = "the credentials are in the namespace of each ExternalSecret, and are checked there"
	case isProblem(err):
		fail(externalv1.ReasonInvalidProviderConfig, err)
	case err != nil:
		return ctrl.Result{}, err
	default:
		limited, cancel := context.WithTimeout(ctx, cmp.Or(r.Patience, patience))
		defer cancel()
		if err := s.Check(limited); err != nil {
			fail(externalv1.ReasonValidationFailed, err)
			next = min(next, failing)
			if limited.Err() != nil { // it had a turn all the time
				next = usual
			}
		}
	}
	status.Capabilities = externalv1.ReadOnly
	was := externalv1.Find(status.Conditions, externalv1.ConditionReady)
	status.Conditions = externalv1.With(status.Conditions, condition)
	if err := reconciling.PatchStatus(ctx, r.Client, before, o); err != nil {
		return reconciling.Again(err)
	}
	if was.Status != condition.Status || was.Message != condition.Message {
		severity := corev1.EventTypeNormal
		if condition.Status != corev1.ConditionTrue {
			severity = corev1.EventTypeWarning
		}
		reconciling.Event(r.Events, o, severity, condition.Reason, "Validate", condition.Message)
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// credentialKeys name the objects with the credentials of a store: KIND/NAMESPACE/NAME.
func credentialKeys(o client.Object) (keys []string) {
	p := specOf(o).Provider
	if p == nil {
		return nil
	}
	add := func(kind, name string, namespace *string) {
		at := o.GetNamespace()
		if at == "" && namespace != nil {
			at = *namespace
		}
		if name != "" && at != "" {
			keys = append(keys, kind+"/"+at+"/"+name)
		}
	}
	for _, ref := range secretsOf(p) {
		if ref != nil {
			add("Secret", ref.Name, ref.Namespace)
		}
	}
	if p.Vault != nil && p.Vault.CAProvider != nil {
		add(p.Vault.CAProvider.Type, p.Vault.CAProvider.Name, p.Vault.CAProvider.Namespace)
	}
	return keys
}

// secretsOf are the references of a provider to Secrets; some are nil.
func secretsOf(p *externalv1.SecretStoreProvider) (refs []*externalv1.SecretKeySelector) {
	if p.Vault != nil && p.Vault.Auth != nil {
		a := p.Vault.Auth
		refs = append(refs, a.TokenSecretRef)
		if a.AppRole != nil {
			refs = append(refs, a.AppRole.RoleRef, &a.AppRole.SecretRef)
		}
		if a.Kubernetes != nil {
			refs = append(refs, a.Kubernetes.SecretRef)
		}
		if a.Jwt != nil {
			refs = append(refs, a.Jwt.SecretRef)
		}
		for _, user := range []*externalv1.VaultUserPassAuth{a.UserPass, a.Ldap} {
			if user != nil {
				refs = append(refs, &user.SecretRef)
			}
		}
	}
	if p.AWS != nil && p.AWS.Auth.SecretRef != nil {
		a := p.AWS.Auth.SecretRef
		refs = append(refs, &a.AccessKeyID, &a.SecretAccessKey, a.SessionToken)
	}
	if p.GCPSM != nil && p.GCPSM.Auth.SecretRef != nil {
		refs = append(refs, &p.GCPSM.Auth.SecretRef.SecretAccessKey)
	}
	if p.AzureKV != nil && p.AzureKV.AuthSecretRef != nil {
		a := p.AzureKV.AuthSecretRef
		refs = append(refs, a.ClientID, a.ClientSecret, a.TenantID)
	}
	return refs
}
