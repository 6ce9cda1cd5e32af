// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/runtime/secrets"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/gitops/sources/tags/decide"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// contentGroup is the API group whose resource modules stands for the registry's modules.
const contentGroup = "content.yuba.dev"

// secretsOf lists the Secrets that an object names.
func secretsOf(o *yubav1.ModuleSource) (names []string) {
	if o.Spec.SecretRef != nil {
		names = append(names, o.Spec.SecretRef.Name)
	}
	if o.Spec.ProxySecretRef != nil {
		names = append(names, o.Spec.ProxySecretRef.Name)
	}
	if o.Spec.Verification != nil {
		names = append(names, o.Spec.Verification.SecretRef.Name)
	}
	return names
}

// upstream returns the repository with its access.
func (p *Publisher) upstream(ctx context.Context, o *yubav1.ModuleSource) (git.Upstream, error) {
	up := git.Upstream{URL: o.Spec.URL}
	if ref := o.Spec.SecretRef; ref != nil {
		secret, err := p.secret(ctx, o.Namespace, ref.Name)
		if err != nil {
			return up, upstream.Failed(sourcev1.AuthenticationFailedReason, err, "%s", err)
		}
		up.Secret = secret.Data
	}
	if ref := o.Spec.ProxySecretRef; ref != nil {
		secret, err := p.secret(ctx, o.Namespace, ref.Name)
		if err != nil {
			return up, upstream.Failed(sourcev1.AuthenticationFailedReason, err, "configure the proxy: %s", err)
		}
		if up.Proxy, err = secrets.ProxyURLFromSecret(ctx, secret); err != nil {
			// Do not include the error: it may quote the password.
			return up, upstream.Failed(sourcev1.AuthenticationFailedReason, err,
				"configure the proxy: the Secret %s/%s needs an address such as http://proxy.example.com:3128, and username and password as separate keys", o.Namespace, ref.Name)
		}
	}
	return up, nil
}

// verify returns the required signatures; nil for none.
func (p *Publisher) verify(ctx context.Context, o *yubav1.ModuleSource) (*git.Verify, error) {
	v := o.Spec.Verification
	if v == nil {
		return nil, nil
	}
	keys, err := p.secret(ctx, o.Namespace, v.SecretRef.Name)
	if err != nil {
		return nil, upstream.Failed(sourcev1.VerificationError, err, "read the public keys: %s", err)
	}
	return &git.Verify{Mode: cmp.Or(v.Mode, "Tag"), Keys: keys.Data}, nil
}

// secret reads a Secret of the object's own namespace.
func (p *Publisher) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := p.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the Secret %s/%s does not exist. Create it; the tags are then listed at once", namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the Secret %s/%s: %w", namespace, name, err)
	}
	return &secret, nil
}

// account returns the service account that publishes.
func account(o *yubav1.ModuleSource) string { return cmp.Or(o.Spec.ServiceAccountName, "default") }

// user returns the service account as the API server names it.
func user(o *yubav1.ModuleSource) string {
	return "system:serviceaccount:" + o.Namespace + ":" + account(o)
}

// forbiddenError means that the service account may not publish into namespaces of the registry.
type forbiddenError struct {
	account, of string
	namespaces  []string
	reason      string
}

func (e *forbiddenError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the service account %s/%s may not publish into the registry's namespace %s", e.of, e.account, strings.Join(e.namespaces, ", "))
	if e.reason != "" {
		fmt.Fprintf(&b, " (%s)", e.reason)
	}
	b.WriteString(". To allow it:")
	for _, n := range e.namespaces {
		fmt.Fprintf(&b, "\n    kubectl create clusterrole publish-modules-%s --verb=update --resource=modules.%s --resource-name=%s", n, contentGroup, n)
		fmt.Fprintf(&b, "\n    kubectl create clusterrolebinding publish-modules-%s-%s-%s --clusterrole=publish-modules-%s --serviceaccount=%s:%s", n, e.of, e.account, n, e.of, e.account)
	}
	return b.String()
}

// permitted returns the modules of namespaces into which the service account may not publish, with a
// *forbiddenError about them.
func (p *Publisher) permitted(ctx context.Context, o *yubav1.ModuleSource, rules []*decide.Matcher) (modules map[string]bool, err error) {
	answers := map[string]bool{}
	modules = map[string]bool{}
	forbidden := &forbiddenError{account: account(o), of: o.Namespace}
	for _, rule := range rules {
		namespace, _, _ := strings.Cut(rule.Module, "/")
		if _, asked := answers[namespace]; !asked {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:   user(o),
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + o.Namespace, "system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Group: contentGroup, Version: "v1alpha1", Resource: "modules", Verb: "update", Name: namespace},
			}}
			if err := p.Client.Create(ctx, review); err != nil {
				return nil, fmt.Errorf("check whether %s may publish into the registry's namespace %s: %w", user(o), namespace, err)
			}
			if answers[namespace] = review.Status.Allowed; !review.Status.Allowed {
				forbidden.namespaces = append(forbidden.namespaces, namespace)
				forbidden.reason = cmp.Or(review.Status.Reason, forbidden.reason)
			}
		}
		if !answers[namespace] {
			modules[rule.Module] = true
		}
	}
	if len(forbidden.namespaces) > 0 {
		slices.Sort(forbidden.namespaces)
		return modules, forbidden
	}
	return modules, nil
}

// repositoryOf returns the URL without credentials, as the registry records it.
func repositoryOf(o *yubav1.ModuleSource) string {
	u, err := url.Parse(o.Spec.URL)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
