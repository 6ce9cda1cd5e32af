// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/secrets"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// gitUpstream is the upstream of GitRepositories.
type gitUpstream struct {
	reader  client.Reader
	mirrors *git.Mirrors
}

// NewGit returns the upstream of GitRepositories. It reads their Secrets with reader.
func NewGit(reader client.Reader, mirrors *git.Mirrors) Upstream[*sourcev1.GitRepository] {
	return &gitUpstream{reader: reader, mirrors: mirrors}
}

// Look returns the commit that the object's reference names.
func (g *gitUpstream) Look(ctx context.Context, o *sourcev1.GitRepository, fresh bool) (*Found, error) {
	up, err := g.upstream(ctx, o)
	if err != nil {
		return nil, err
	}
	want := git.Want{Sparse: o.Spec.SparseCheckout, Submodules: o.Spec.RecurseSubmodules}
	if !fresh {
		want.MaxAge = maxAge(o)
	}
	if ref := o.Spec.Reference; ref != nil {
		want.Ref = git.Ref{Branch: ref.Branch, Tag: ref.Tag, SemVer: ref.SemVer, Name: ref.Name, Commit: ref.Commit}
	}
	if v := o.Spec.Verification; v != nil && v.Mode != "" {
		keys, err := readSecret(ctx, g.reader, o.Namespace, v.SecretRef.Name)
		if err != nil {
			return nil, upstream.Failed(sourcev1.VerificationError, err, "public keys secret error: %s", err)
		}
		want.Verify = &git.Verify{Mode: string(v.GetMode()), Keys: keys.Data}
	}
	found, err := g.mirrors.Look(ctx, up, want)
	if err != nil {
		return nil, err
	}
	return &Found{Revision: found.Revision, Verified: found.Verified, ContentKey: found.ContentKey, Upstream: found.Upstream, Fetch: found.Fetch, Authors: found.Authors, Parent: found.Parent,
		LeftOut: func() []string { return found.LeftOut }}, nil
}

// youngLook is the maximum age of a shared look for an object without an artifact: its author waits
// for it.
const youngLook = 10 * time.Second

// maxAge returns the maximum age of a shared look: all objects of one upstream share a look in each
// interval. It is shorter than the interval with its jitter, so a single object never reuses its
// own last look.
func maxAge(o Object) time.Duration {
	age := o.GetRequeueAfter() / 10 * 9
	if o.GetArtifact() == nil {
		age = min(age, youngLook)
	}
	return age
}

func (g *gitUpstream) upstream(ctx context.Context, o *sourcev1.GitRepository) (git.Upstream, error) {
	up := git.Upstream{URL: o.Spec.URL}
	if provider := o.GetProvider(); provider != sourcev1.GitProviderGeneric {
		return up, upstream.Stalled(sourcev1.InvalidProviderConfigurationReason, nil,
			"spec.provider %q: credentials of clouds and apps are not supported. Remove the provider and name a Secret with a password, a token or an SSH key", provider)
	}
	if ref := o.Spec.SecretRef; ref != nil {
		secret, err := readSecret(ctx, g.reader, o.Namespace, ref.Name)
		if err != nil {
			return up, authenticationFailed(err)
		}
		up.Secret = secret.Data
	}
	var err error
	up.Proxy, err = proxyOf(ctx, g.reader, o.Namespace, o.Spec.ProxySecretRef)
	return up, err
}

// proxyOf reads the address of a proxy; nil without a reference.
func proxyOf(ctx context.Context, reader client.Reader, namespace string, ref *meta.LocalObjectReference) (*url.URL, error) {
	if ref == nil {
		return nil, nil
	}
	secret, err := readSecret(ctx, reader, namespace, ref.Name)
	if err != nil {
		return nil, authenticationFailed(fmt.Errorf("configure the proxy: %w", err))
	}
	proxy, err := secrets.ProxyURLFromSecret(ctx, secret)
	if err != nil {
		// Do not include the error: it may quote the password.
		return nil, upstream.Failed(sourcev1.AuthenticationFailedReason, err,
			"configure the proxy: the Secret %s/%s needs an address such as http://proxy.example.com:3128, and username and password as separate keys", namespace, ref.Name)
	}
	return proxy, nil
}

func authenticationFailed(err error) error {
	return upstream.Failed(sourcev1.AuthenticationFailedReason, err, "%s", err)
}

// readSecret reads a Secret of the object's own namespace.
func readSecret(ctx context.Context, reader client.Reader, namespace, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("failed to get secret '%s/%s': it does not exist. Create it; the source is then reconciled at once", namespace, name)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to get secret '%s/%s': %w", namespace, name, err)
	}
	return &secret, nil
}
