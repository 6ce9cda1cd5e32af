// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/acl"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// verdict is the result of a check: a receiver with its path, or a problem.
type verdict struct {
	reason, message string
	// stalled is true if the object must be changed.
	stalled bool
	path    string
	token   string
	targets []target
	filter  filter
}

// stall is a verdict that requires a change of the object.
func stall(reason, format string, args ...any) verdict {
	return verdict{reason: reason, message: fmt.Sprintf(format, args...), stalled: true}
}

// judge checks a receiver. An error is one of the API, not of the receiver.
func judge(obj *notificationv1.Receiver, secret *corev1.Secret, mapper apimeta.RESTMapper, crossNamespace bool) (verdict, error) {
	if !Supported(obj.Spec.Type) {
		return stall(notificationv1.ValidationFailedReason,
			"spec.type: receivers of type %s are not supported. Supported: %s", obj.Spec.Type, strings.Join(supported(), ", ")), nil
	}
	all, err := newFilter(obj.Spec.ResourceFilter)
	if err != nil {
		return stall(meta.InvalidCELExpressionReason, "Reconciliation failed terminally due to configuration error: spec.resourceFilter: %v", err), nil
	}
	targets, unserved, err := readTargets(obj, mapper, crossNamespace)
	if wrong := (*wrongError)(nil); errors.As(err, &wrong) {
		return stall(wrong.reason, "%s", wrong.message), nil
	}
	if err != nil {
		return verdict{}, err
	}
	token, problem := readToken(obj, secret)
	if problem != "" {
		return verdict{reason: notificationv1.TokenNotFoundReason, message: problem}, nil
	}
	path := obj.GetWebhookPath(token)
	message := "Receiver initialized for path: " + path
	if len(unserved) > 0 {
		message += ". This server does not serve these kinds, and hooks do not reconcile them: " + strings.Join(unserved, ", ")
	}
	return verdict{reason: meta.SucceededReason, message: message, path: path, token: token, targets: targets, filter: all}, nil
}

func supported() []string { return slices.Sorted(maps.Keys(verifiers)) }

func readToken(obj *notificationv1.Receiver, secret *corev1.Secret) (token, problem string) {
	if obj.Spec.SecretRef == nil {
		return "", "spec.secretRef does not name a Secret"
	}
	name := obj.Namespace + "/" + obj.Spec.SecretRef.Name
	if secret == nil {
		return "", fmt.Sprintf("unable to read token from secret '%s': the Secret does not exist", name)
	}
	value, ok := secret.Data["token"]
	switch {
	case !ok:
		return "", fmt.Sprintf("invalid '%s' secret data: required fields 'token'", name)
	case len(value) == 0:
		return "", fmt.Sprintf("invalid '%s' secret data: the field 'token' is empty", name)
	}
	return string(value), ""
}

// wrongError is an error of the object.
type wrongError struct{ reason, message string }

func (e *wrongError) Error() string { return e.message }

// groups are the default groups of kinds.
var groups = map[string]string{
	sourcev1.GitRepositoryKind: sourcev1.GroupVersion.Group, sourcev1.OCIRepositoryKind: sourcev1.GroupVersion.Group,
	sourcev1.BucketKind: sourcev1.GroupVersion.Group, sourcev1.ExternalArtifactKind: sourcev1.GroupVersion.Group,
	"HelmRepository": sourcev1.GroupVersion.Group, "HelmChart": sourcev1.GroupVersion.Group,
	kustomizev1.KustomizationKind: kustomizev1.GroupVersion.Group,
	"HelmRelease":                 "helm.toolkit.fluxcd.io",
	"ImageRepository":             "image.toolkit.fluxcd.io", "ImagePolicy": "image.toolkit.fluxcd.io",
	"ImageUpdateAutomation": "image.toolkit.fluxcd.io",
	"ArtifactGenerator":     "source.extensions.fluxcd.io",
	infrav1.Kind:            infrav1.GroupVersion.Group,
	yubav1.ModuleSourceKind: yubav1.GroupVersion.Group,
}

// readTargets reads spec.resources. unserved are the kinds that the API does not serve.
func readTargets(obj *notificationv1.Receiver, mapper apimeta.RESTMapper, crossNamespace bool) (targets []target, unserved []string, err error) {
	for i, resource := range obj.Spec.Resources {
		field := fmt.Sprintf("spec.resources[%d]", i)
		t := target{namespace: cmp.Or(resource.Namespace, obj.Namespace), name: resource.Name, labels: resource.MatchLabels}
		if t.namespace != obj.Namespace && !crossNamespace {
			return nil, nil, &wrongError{acl.AccessDeniedReason, fmt.Sprintf("%s: can't access '%s/%s/%s', cross-namespace references have been blocked; --allow-cross-namespace of the server allows them",
				field, resource.Kind, t.namespace, resource.Name)}
		}
		if t.name == "*" {
			if len(t.labels) == 0 {
				return nil, nil, &wrongError{notificationv1.ValidationFailedReason, field + ": matchLabels field not set when using wildcard '*' as name"}
			}
			t.name = ""
		}
		if t.filter, err = newFilter(resource.Filter); err != nil {
			return nil, nil, &wrongError{meta.InvalidCELExpressionReason, fmt.Sprintf("Reconciliation failed terminally due to configuration error: %s.filter: %v", field, err)}
		}
		group := groups[resource.Kind]
		if resource.APIVersion != "" {
			gv, err := schema.ParseGroupVersion(resource.APIVersion)
			if err != nil {
				return nil, nil, &wrongError{notificationv1.ValidationFailedReason, fmt.Sprintf("%s.apiVersion: %v", field, err)}
			}
			group = gv.Group
		}
		// For an annotation, the version does not matter.
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: group, Kind: resource.Kind})
		if apimeta.IsNoMatchError(err) {
			unserved = append(unserved, resource.Kind)
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("find the kind %s in the API: %w", resource.Kind, err)
		}
		t.gvk = mapping.GroupVersionKind
		targets = append(targets, t)
	}
	if len(targets) == 0 && len(unserved) > 0 {
		return nil, nil, &wrongError{notificationv1.ValidationFailedReason, "spec.resources: this server serves none of these kinds: " + strings.Join(unserved, ", ")}
	}
	return targets, unserved, nil
}
