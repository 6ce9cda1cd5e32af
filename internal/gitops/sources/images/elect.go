// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"github.com/fluxcd/pkg/apis/acl"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/sources/images/policy"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// reasonInvalidPolicy is Flux's.
const reasonInvalidPolicy = "InvalidPolicy"

// reelect is how often a policy elects without news. It costs no request.
const reelect = time.Hour

// elections are those of ImagePolicies.
func (i *Images) elections() *purpose {
	return &purpose{name: imagev1.ImagePolicyKind, action: "Elect", failed: metav1.StatusFailure,
		new:  func() object { return &imagev1.ImagePolicy{} },
		list: func() client.ObjectList { return &imagev1.ImagePolicyList{} },
		view: func(o object) view {
			p := o.(*imagev1.ImagePolicy)
			return view{p.Spec.Suspend, cmp.Or(p.GetInterval(), reelect), &p.Status.ObservedGeneration, &p.Status.LastHandledReconcileAt}
		},
		work:   func(ctx context.Context, o object, _ bool) *outcome { return i.elect(ctx, o.(*imagev1.ImagePolicy)) },
		forget: func(types.NamespacedName) {},
	}
}

func (i *Images) elect(ctx context.Context, o *imagev1.ImagePolicy) *outcome {
	elector, err := policy.Compile(specOf(o))
	if err != nil {
		return &outcome{err: upstream.Stalled(reasonInvalidPolicy, nil, "%s", err)}
	}
	repository, err := i.repositoryOf(ctx, o)
	if err != nil {
		return &outcome{err: err}
	}
	known, scanned := i.book.read(client.ObjectKeyFromObject(repository), repository.UID)
	if !scanned || known.generation != repository.Generation {
		return awaitScan(o, repository)
	}
	tag, err := elector.Latest(known.tags)
	if none := (*policy.NoneError)(nil); errors.As(err, &none) {
		return &outcome{err: upstream.Failed(metav1.StatusFailure, nil, "%s (ImageRepository %s/%s)", none, repository.Namespace, repository.Name)}
	}
	if err != nil {
		return &outcome{err: err}
	}
	ref := imagev1.ImageRef{Name: repository.Spec.Image, Tag: tag}
	if ref.Digest, err = i.digest(ctx, o, repository, ref); err != nil {
		return &outcome{err: err}
	}
	return elected(o, ref)
}

// awaitScan waits for the tags: the end of the scan triggers an election. After a restart what was
// elected before stays.
func awaitScan(o *imagev1.ImagePolicy, repository *imagev1.ImageRepository) *outcome {
	if o.Status.LatestRef != nil && o.Status.ObservedGeneration == o.Generation {
		return &outcome{silent: true}
	}
	why := cmp.Or(conditions.Of(repository, meta.ReadyCondition).Message, "it has not been scanned yet")
	if repository.Spec.Suspend {
		why = "it is suspended"
	}
	return &outcome{err: upstream.Failed(imagev1.DependencyNotReadyReason, nil, "the tags of the ImageRepository %s/%s are not known: %s", repository.Namespace, repository.Name, why)}
}

// elected records an election.
func elected(o *imagev1.ImagePolicy, ref imagev1.ImageRef) *outcome {
	last, previous := o.Status.LatestRef, o.Status.ObservedPreviousRef
	news := last == nil || *last != ref
	if news {
		previous = last
	}
	out := &outcome{ready: electionMessage(ref, previous), write: func(o object) {
		s := &o.(*imagev1.ImagePolicy).Status
		s.LatestRef, s.ObservedPreviousRef = &ref, previous
	}}
	if news {
		out.said = []said{{corev1.EventTypeNormal, meta.SucceededReason, out.ready}}
	}
	return out
}

// electionMessage is Flux's message.
func electionMessage(ref imagev1.ImageRef, previous *imagev1.ImageRef) string {
	text := fmt.Sprintf("Latest image tag for %s resolved to %s", ref.Name, ref.Tag)
	if ref.Digest != "" {
		text += " with digest " + ref.Digest
	}
	if previous != nil && *previous != ref {
		text += fmt.Sprintf(" (previously %s)", previous.String())
	}
	return text
}

// specOf returns the policy of an object.
func specOf(o *imagev1.ImagePolicy) (spec policy.Spec) {
	choice := o.Spec.Policy
	if choice.SemVer != nil {
		spec.SemVer = &choice.SemVer.Range
	}
	if choice.Alphabetical != nil {
		order := policy.Order(choice.Alphabetical.Order)
		spec.Alphabetical = &order
	}
	if choice.Numerical != nil {
		order := policy.Order(choice.Numerical.Order)
		spec.Numerical = &order
	}
	if filter := o.Spec.FilterTags; filter != nil {
		spec.Pattern, spec.Extract = filter.Pattern, filter.Extract
	}
	return spec
}

// digest returns the digest to reflect; empty for none.
func (i *Images) digest(ctx context.Context, o *imagev1.ImagePolicy, repository *imagev1.ImageRepository, ref imagev1.ImageRef) (string, error) {
	switch last := o.Status.LatestRef; o.GetDigestReflectionPolicy() {
	case imagev1.ReflectAlways:
	case imagev1.ReflectIfNotPresent:
		if last != nil && last.Name == ref.Name && last.Tag == ref.Tag && last.Digest != "" {
			return last.Digest, nil
		}
	default:
		return "", nil
	}
	wanted, err := i.image(ctx, repository)
	if err != nil {
		return "", err
	}
	leave, err := i.hosts.Take(ctx, hostOf(repository.Spec.Image, repository.Namespace, repository.Spec.ProxySecretRef))
	if err != nil {
		return "", err
	}
	defer leave()
	return i.Registries.DigestOf(ctx, wanted, ref.Tag)
}

// repositoryOf returns the ImageRepository that a policy names, if the policy may use it.
func (i *Images) repositoryOf(ctx context.Context, o *imagev1.ImagePolicy) (*imagev1.ImageRepository, error) {
	ref := o.Spec.ImageRepositoryRef
	key := types.NamespacedName{Namespace: cmp.Or(ref.Namespace, o.Namespace), Name: ref.Name}
	repository := &imagev1.ImageRepository{}
	err := i.cache.Get(ctx, key, repository)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the ImageRepository %s: %w", key, err)
	}
	if key.Namespace != o.Namespace {
		allowed := false
		if err == nil {
			if allowed, err = i.allows(ctx, repository, o.Namespace); err != nil {
				return nil, err
			}
		}
		if !allowed { // do not reveal whether it exists
			return nil, upstream.Failed(acl.AccessDeniedReason, nil, "the ImageRepository %s does not exist, or its spec.accessFrom does not allow the namespace %s", key, o.Namespace)
		}
	}
	if apierrors.IsNotFound(err) {
		return nil, upstream.Failed(imagev1.DependencyNotReadyReason, nil, "the ImageRepository %s does not exist. Create it; the election follows by itself", key)
	}
	return repository, nil
}

// allows reports whether an ImageRepository allows policies of a namespace.
func (i *Images) allows(ctx context.Context, repository *imagev1.ImageRepository, namespace string) (bool, error) {
	if repository.Spec.AccessFrom == nil || len(repository.Spec.AccessFrom.NamespaceSelectors) == 0 {
		return false, nil
	}
	var from corev1.Namespace
	if err := i.Reader.Get(ctx, types.NamespacedName{Name: namespace}, &from); err != nil {
		return false, fmt.Errorf("read the labels of the namespace %s: %w", namespace, err)
	}
	for _, selector := range repository.Spec.AccessFrom.NamespaceSelectors {
		if labels.SelectorFromSet(selector.MatchLabels).Matches(labels.Set(from.Labels)) {
			return true, nil
		}
	}
	return false, nil
}
