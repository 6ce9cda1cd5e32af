// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// externals checks pushed ExternalArtifacts: their archive exists only in the store and cannot be
// fetched again. It ignores those of other controllers.
type externals struct {
	*Sources
}

// externalEvery is how often the archives of ExternalArtifacts are checked.
const externalEvery = 10 * time.Minute

// ReasonArchiveMissing says that the archive of an ExternalArtifact is missing or damaged.
const ReasonArchiveMissing = "ArchiveMissing"

func (s *Sources) setupExternal(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("source-externalartifact").For(&sourcev1.ExternalArtifact{}).
		WithOptions(reconciling.Options(1)).
		Complete(&externals{s})
	if err != nil {
		return fmt.Errorf("set up the controller of ExternalArtifacts: %w", err)
	}
	return nil
}

// Reconcile reports whether the archive of an ExternalArtifact is usable.
func (e *externals) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var o sourcev1.ExternalArtifact
	if err := e.Cache.Get(ctx, req.NamespacedName, &o); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	a := o.Status.Artifact
	if !o.DeletionTimestamp.IsZero() || a == nil {
		return ctrl.Result{}, nil
	}
	// The server's address may have changed since the push.
	url := e.ArchiveURL("externalartifacts", req.NamespacedName, a.Digest)
	own, unsaid := isOurs(a.URL, url)
	if !own && !unsaid {
		return ctrl.Result{}, nil
	}
	present, err := e.packs.present(ctx, a.Digest, false)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read the archive of ExternalArtifact %s: %w", req.NamespacedName, err)
	}
	if unsaid && !present {
		return ctrl.Result{}, nil
	}
	before := o.DeepCopy()
	tell(&o, present)
	o.Status.Artifact.URL = url
	if equality.Semantic.DeepEqual(&o, before) {
		return ctrl.Result{RequeueAfter: externalEvery}, nil
	}
	if err := e.Client.Status().Patch(ctx, o.DeepCopy(), reconciling.ChangeOf(before)); err != nil {
		return reconciling.Again(client.IgnoreNotFound(fmt.Errorf("write the status of ExternalArtifact %s: %w", req.NamespacedName, err)))
	}
	if is := conditions.Of(&o, meta.ReadyCondition); is != conditions.Of(before, meta.ReadyCondition) {
		severity := corev1.EventTypeNormal
		if !present {
			severity = corev1.EventTypeWarning
		}
		e.Events.Eventf(&o, nil, severity, is.Reason, "Verify", "%s", is.Message)
	}
	return ctrl.Result{RequeueAfter: externalEvery}, nil
}

// isOurs reports whether this server serves the archive of a URL; want is its own URL. unsaid is a
// URL of an earlier Yuba, without a store: the archive is ours if our store has it.
func isOurs(url, want string) (own, unsaid bool) {
	path, ownPath := behindAddress(url), behindAddress(want)
	earlier, _, named := strings.Cut(ownPath, "&store=")
	return path == ownPath, named && path == earlier
}

// behindAddress returns a URL without the server's address, which may have changed.
func behindAddress(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	_, rest, _ = strings.Cut(rest, "/")
	return rest
}

// tell sets Ready, unless another controller has set it.
func tell(o *sourcev1.ExternalArtifact, present bool) {
	ready, a := conditions.Of(o, meta.ReadyCondition), o.Status.Artifact
	switch {
	case !present:
		message := fmt.Sprintf("the archive of '%s' is missing from the store or damaged. Push the directory again:\n    yuba push %s DIR -n %s", a.Revision, o.Name, o.Namespace)
		conditions.Set(o, meta.ReadyCondition, metav1.ConditionFalse, ReasonArchiveMissing, message)
	case ready.Reason == ReasonArchiveMissing:
		conditions.Set(o, meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, "stored artifact for revision "+a.Revision)
	}
}
