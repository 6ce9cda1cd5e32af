// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/bucket"
	"github.com/yuba-dev/yuba/internal/gitops/sources/identity"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// bucketUpstream asks object stores for Buckets.
type bucketUpstream struct {
	reader     client.Reader
	limits     archive.Limits
	identities *identity.Identities
	client     *bucket.Client
}

// NewBucket returns the upstream of Buckets. It reads Secrets with reader; limits apply to a
// bucket's content. Sources may use the server's identities.
func NewBucket(reader client.Reader, limits archive.Limits, identities *identity.Identities) Upstream[*sourcev1.Bucket] {
	return &bucketUpstream{reader: reader, limits: limits, identities: identities, client: bucket.New()}
}

// Look implements Upstream.
func (u *bucketUpstream) Look(ctx context.Context, obj *sourcev1.Bucket, fresh bool) (*Found, error) {
	wanted, err := u.wanted(ctx, obj)
	if err != nil {
		return nil, err
	}
	tree, err := u.client.Look(ctx, wanted, fresh)
	if err != nil {
		return nil, err
	}
	return &Found{Revision: tree.Revision, ContentKey: tree.ContentKey, Upstream: tree.Upstream, Fetch: tree.Fetch,
		News: fmt.Sprintf("stored artifact with %d fetched files from '%s' bucket", tree.Files, obj.Spec.BucketName)}, nil
}

func (u *bucketUpstream) wanted(ctx context.Context, obj *sourcev1.Bucket) (*bucket.Bucket, error) {
	provider := cmp.Or(obj.Spec.Provider, sourcev1.BucketProviderGeneric)
	if obj.Spec.STS != nil {
		return nil, upstream.Stalled(sourcev1.InvalidSTSConfigurationReason, nil, "spec.sts is not supported: use spec.secretRef to name a Secret with accesskey and secretkey")
	}
	if obj.Spec.ServiceAccountName != "" {
		return nil, noIdentity(provider, "remove spec.serviceAccountName, and use spec.secretRef to name a Secret with credentials")
	}
	wanted := &bucket.Bucket{
		Provider: provider, Endpoint: obj.Spec.Endpoint, Name: obj.Spec.BucketName, Region: obj.Spec.Region, Insecure: obj.Spec.Insecure,
		Prefix: obj.Spec.Prefix, Timeout: timeoutOf(obj.Spec.Timeout), MaxAge: maxAge(obj), Limits: u.limits,
		Ignore: ptr.Deref(obj.Spec.Ignore, ""),
	}
	var err error
	if wanted.Access, err = accessOf(ctx, u.reader, obj.Namespace, obj.Spec.CertSecretRef, obj.Spec.ProxySecretRef); err != nil {
		return nil, err
	}
	switch {
	case obj.Spec.SecretRef != nil:
		secret, err := readSecret(ctx, u.reader, obj.Namespace, obj.Spec.SecretRef.Name)
		if err != nil {
			return nil, authenticationFailed(err)
		}
		if wanted.Credentials = secret.Data; wanted.Credentials == nil {
			wanted.Credentials = map[string][]byte{} // an empty Secret does not mean anonymous access
		}
	case u.identities.Allows(provider):
		if obj.Spec.Insecure || obj.Spec.CertSecretRef != nil || obj.Spec.ProxySecretRef != nil {
			return nil, notOwn(provider, "remove spec.insecure, spec.certSecretRef and spec.proxySecretRef")
		}
		if !wanted.IsOwn() {
			return nil, notOwn(provider, "spec.endpoint must be one of the provider")
		}
		wanted.Identity = true
	case provider == sourcev1.BucketProviderAmazon:
		return nil, noIdentity(provider, "use spec.secretRef to name a Secret with accesskey and secretkey, or read a public bucket with spec.provider generic")
	case provider == sourcev1.BucketProviderGoogle:
		return nil, noIdentity(provider, "use spec.secretRef to name a Secret with serviceaccount, the key of a service account, or read a public bucket with spec.provider generic")
	}
	return wanted, nil
}
