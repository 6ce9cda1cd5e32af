// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/secrets/external/turns"
	"github.com/yuba-dev/yuba/internal/secrets/remote"
)

// The indexes of ExternalSecrets: by the stores and by the objects that they name; and of stores: by the objects
// with their credentials.
const (
	indexStore       = "yuba.externalsecrets.store"
	indexObject      = "yuba.externalsecrets.object"
	indexCredentials = "yuba.secretstores.object"
)

// Endpoints replace the addresses of clouds, for tests and for networks that reach them elsewhere. Empty ones are
// the clouds' own.
type Endpoints struct {
	SecretsManager, ParameterStore, Google string
}

// Reconciler keeps targets up to date.
type Reconciler struct {
	// Client reads the cache and writes status.
	Client client.Client
	// Direct reads and writes Secrets and ConfigMaps in the API itself.
	Direct client.Client
	// Reachable are servers, each HOST:PORT, on this machine or in private networks that stores may name.
	Reachable []string
	Endpoints Endpoints
	// Theirs says why the kinds belong to another program now; empty if they do not. Nil means that they never do.
	Theirs func(ctx context.Context) (string, error)
	// Patience bounds a refresh and the check of a store; 0 for the usual time.
	Patience time.Duration
	// Namespaced: the server works on some namespaces only, so that it reads no ClusterSecretStores.
	Namespaced bool
	Events     events.EventRecorder
	Now        func() time.Time
	Log        *slog.Logger

	kept remote.Tokens
	left atomic.Bool
}

// tokens keeps the tokens of all stores.
func (r *Reconciler) tokens() *remote.Tokens { return &r.kept }

// SetupWithManager starts the controllers.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := r.index(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("index ExternalSecrets: %w", err)
	}
	valid := builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, becameReady()))
	b := ctrl.NewControllerManagedBy(mgr).Named("externalsecret").
		For(&externalv1.ExternalSecret{}, builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}))).
		Watches(&externalv1.SecretStore{}, handler.EnqueueRequestsFromMapFunc(r.usersOf(externalv1.SecretStoreKind)), valid)
	if !r.Namespaced {
		b = b.Watches(&externalv1.ClusterSecretStore{}, handler.EnqueueRequestsFromMapFunc(r.usersOf(externalv1.ClusterSecretStoreKind)), valid)
	}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		b = b.WatchesMetadata(metadataOf(kind), handler.EnqueueRequestsFromMapFunc(r.namers(kind)))
	}
	t := turns.New()
	if err := b.WatchesRawSource(t.Source()).WithOptions(reconciling.Options(turns.Workers)).Complete(t.Fair(r.reconcile)); err != nil {
		return fmt.Errorf("set up the controller of ExternalSecrets: %w", err)
	}
	return r.setupStores(mgr)
}

// leaves reports whether another program works on the kinds now. It logs when that changes.
func (r *Reconciler) leaves(ctx context.Context) (bool, error) {
	if r.Theirs == nil {
		return false, nil
	}
	why, err := r.Theirs(ctx)
	if err != nil {
		return false, err
	}
	left := why != ""
	if r.left.Swap(left) != left {
		if left {
			r.Log.Warn(why + ", so Yuba leaves ExternalSecrets and their stores alone from now on")
		} else {
			r.Log.Info("the kinds of External Secrets are Yuba's again")
		}
	}
	return left, nil
}

func metadataOf(kind string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return o
}

// index adds the indexes.
func (r *Reconciler) index(ctx context.Context, indexer client.FieldIndexer) error {
	for index, keys := range map[string]func(*externalv1.ExternalSecret) []string{indexStore: storeKeys, indexObject: objectKeys} {
		err := indexer.IndexField(ctx, &externalv1.ExternalSecret{}, index, func(o client.Object) []string { return keys(o.(*externalv1.ExternalSecret)) })
		if err != nil {
			return err
		}
	}
	stores := []client.Object{&externalv1.SecretStore{}}
	if !r.Namespaced {
		stores = append(stores, &externalv1.ClusterSecretStore{})
	}
	for _, kind := range stores {
		if err := indexer.IndexField(ctx, kind, indexCredentials, credentialKeys); err != nil {
			return err
		}
	}
	return nil
}

// storeKeys name the stores of an ExternalSecret: KIND/NAMESPACE/NAME, or KIND//NAME.
func storeKeys(es *externalv1.ExternalSecret) (keys []string) {
	add := func(ref externalv1.SecretStoreRef) {
		if ref.Name == "" {
			return
		}
		namespace := es.Namespace
		if ref.Kind == externalv1.ClusterSecretStoreKind {
			namespace = ""
		}
		keys = append(keys, kindOf(ref)+"/"+namespace+"/"+ref.Name)
	}
	add(es.Spec.SecretStoreRef)
	for _, d := range es.Spec.Data {
		if d.SourceRef != nil {
			add(d.SourceRef.SecretStoreRef)
		}
	}
	for _, d := range es.Spec.DataFrom {
		if d.SourceRef != nil && d.SourceRef.SecretStoreRef != nil {
			add(*d.SourceRef.SecretStoreRef)
		}
	}
	return keys
}

func kindOf(ref externalv1.SecretStoreRef) string {
	if ref.Kind == "" {
		return externalv1.SecretStoreKind
	}
	return ref.Kind
}

// objectKeys name the target and the objects with templates: KIND/NAMESPACE/NAME.
func objectKeys(es *externalv1.ExternalSecret) []string {
	keys := []string{"Secret/" + es.Namespace + "/" + targetOf(es)}
	if t := es.Spec.Target.Template; t != nil {
		for _, from := range t.TemplateFrom {
			if from.ConfigMap != nil {
				keys = append(keys, "ConfigMap/"+es.Namespace+"/"+from.ConfigMap.Name)
			}
			if from.Secret != nil {
				keys = append(keys, "Secret/"+es.Namespace+"/"+from.Secret.Name)
			}
		}
	}
	return keys
}

func targetOf(es *externalv1.ExternalSecret) string {
	if es.Spec.Target.Name != "" {
		return es.Spec.Target.Name
	}
	return es.Name
}

// usersOf finds the ExternalSecrets of a store.
func (r *Reconciler) usersOf(kind string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		return reconciling.Find(ctx, r.Client, r.Log, &externalv1.ExternalSecretList{}, indexStore, kind+"/"+o.GetNamespace()+"/"+o.GetName())
	}
}

// namers finds the ExternalSecrets that name an object.
func (r *Reconciler) namers(kind string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		return reconciling.Find(ctx, r.Client, r.Log, &externalv1.ExternalSecretList{}, indexObject, kind+"/"+o.GetNamespace()+"/"+o.GetName())
	}
}

// becameReady matches stores whose condition changed: ExternalSecrets that failed are tried again.
func becameReady() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return externalv1.Find(statusOf(e.ObjectOld).Conditions, externalv1.ConditionReady).Status != externalv1.Find(statusOf(e.ObjectNew).Conditions, externalv1.ConditionReady).Status
	}}
}
