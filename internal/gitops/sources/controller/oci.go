// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"

	fluxoci "github.com/fluxcd/pkg/oci"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/identity"
	"github.com/yuba-dev/yuba/internal/gitops/sources/oci"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// ociUpstream is the upstream of OCIRepositories.
type ociUpstream struct {
	reader     client.Reader
	limits     archive.Limits
	identities *identity.Identities
	client     *oci.Client
}

// NewOCI returns the upstream of OCIRepositories. It reads Secrets and ServiceAccounts with reader;
// limits apply to layers and their content. Sources may use the server's identities.
func NewOCI(reader client.Reader, limits archive.Limits, identities *identity.Identities) Upstream[*sourcev1.OCIRepository] {
	return &ociUpstream{reader: reader, limits: limits, identities: identities, client: oci.New()}
}

// Look implements Upstream.
func (u *ociUpstream) Look(ctx context.Context, obj *sourcev1.OCIRepository, fresh bool) (*Found, error) {
	wanted, err := u.wanted(ctx, obj)
	if err != nil {
		return nil, err
	}
	artifact, err := u.client.Look(ctx, wanted, fresh)
	if err != nil {
		return nil, err
	}
	found := &Found{Revision: artifact.Revision, Metadata: artifact.Metadata, ContentKey: artifact.ContentKey, Upstream: artifact.Upstream, News: ociNews(obj, artifact)}
	if artifact.Verified != "" {
		found.Verified = fmt.Sprintf("verified signature of revision %s with the key %s", artifact.Revision, artifact.Verified)
	}
	if wanted.Copy {
		found.Archive = artifact.Archive
	} else {
		found.Fetch = artifact.Fetch
	}
	return found, nil
}

// ociNews is Flux's message.
func ociNews(obj *sourcev1.OCIRepository, artifact *oci.Artifact) string {
	news := fmt.Sprintf("stored artifact with revision '%s' from '%s'", artifact.Revision, obj.Spec.URL)
	origin, revision := artifact.Metadata[fluxoci.SourceAnnotation], artifact.Metadata[fluxoci.RevisionAnnotation]
	if origin != "" && revision != "" {
		news += fmt.Sprintf(", origin source '%s', origin revision '%s'", origin, revision)
	}
	return news
}

func (u *ociUpstream) wanted(ctx context.Context, obj *sourcev1.OCIRepository) (*oci.Repository, error) {
	wanted := &oci.Repository{
		URL: obj.Spec.URL, Insecure: obj.Spec.Insecure, MediaType: obj.GetLayerMediaType(), Copy: obj.GetLayerOperation() == sourcev1.OCILayerCopy,
		Timeout: timeoutOf(obj.Spec.Timeout), MaxAge: maxAge(obj), Limits: u.limits,
	}
	if ref := obj.Spec.Reference; ref != nil {
		wanted.Digest, wanted.SemVer, wanted.SemverFilter, wanted.Tag = ref.Digest, ref.SemVer, ref.SemverFilter, ref.Tag
	}
	var err error
	if wanted.Access, err = accessOf(ctx, u.reader, obj.Namespace, obj.Spec.CertSecretRef, obj.Spec.ProxySecretRef); err != nil {
		return nil, err
	}
	// As in Flux: with certificates, they are verified.
	wanted.Access.SkipVerify = obj.Spec.Insecure && obj.Spec.CertSecretRef == nil
	known, err := u.credentials(ctx, obj, &wanted.Credentials)
	if err != nil {
		return nil, err
	}
	if provider := obj.Spec.Provider; known == 0 && provider != "" && provider != sourcev1.GenericOCIProvider {
		if err := u.lend(ctx, obj, &wanted.Credentials); err != nil {
			return nil, err
		}
	}
	wanted.Verify, err = u.verification(ctx, obj)
	return wanted, err
}

// lend adds the credentials of the server's identity, if sources may use it.
func (u *ociUpstream) lend(ctx context.Context, obj *sourcev1.OCIRepository, into *oci.Credentials) error {
	provider, repository := obj.Spec.Provider, strings.TrimPrefix(obj.Spec.URL, "oci://")
	switch {
	case !u.identities.Allows(provider):
		return noIdentity(provider, "use spec.secretRef to name a Secret of the type kubernetes.io/dockerconfigjson, or set spec.provider to generic")
	case obj.Spec.ServiceAccountName != "":
		return notOwn(provider, "remove spec.serviceAccountName")
	case obj.Spec.Insecure || obj.Spec.CertSecretRef != nil || obj.Spec.ProxySecretRef != nil:
		return notOwn(provider, "remove spec.insecure, spec.certSecretRef and spec.proxySecretRef")
	}
	if err := u.identities.IsOwnRegistry(provider, repository); err != nil {
		return notOwn(provider, fmt.Sprintf("spec.url must be in a registry of the provider (%s)", err))
	}
	config, err := u.identities.Registry(ctx, provider, repository)
	if err != nil {
		return authenticationFailed(fmt.Errorf("get credentials by this server's identity of spec.provider %s: %w", provider, err))
	}
	host, _, _ := strings.Cut(repository, "/")
	into.Add(host, config)
	return nil
}

// credentials reads the Secrets with credentials, and returns their number.
func (u *ociUpstream) credentials(ctx context.Context, obj *sourcev1.OCIRepository, into *oci.Credentials) (int, error) {
	var names []string
	if ref := obj.Spec.SecretRef; ref != nil {
		names = append(names, ref.Name)
	}
	if name := obj.Spec.ServiceAccountName; name != "" {
		account := &corev1.ServiceAccount{}
		if err := u.reader.Get(ctx, types.NamespacedName{Namespace: obj.Namespace, Name: name}, account); err != nil {
			return 0, authenticationFailed(fmt.Errorf("read the ServiceAccount %s/%s, which spec.serviceAccountName names: %w", obj.Namespace, name, err))
		}
		for _, ref := range account.ImagePullSecrets {
			names = append(names, ref.Name)
		}
	}
	for _, name := range names {
		secret, err := readSecret(ctx, u.reader, obj.Namespace, name)
		if err != nil {
			return 0, authenticationFailed(err)
		}
		document := entry(secret, corev1.DockerConfigJsonKey, corev1.DockerConfigKey)
		if document == nil {
			return 0, authenticationFailed(fmt.Errorf("the Secret %s/%s does not have %s; its type must be %s",
				obj.Namespace, name, corev1.DockerConfigJsonKey, corev1.SecretTypeDockerConfigJson))
		}
		if err := into.AddDockerConfig(document); err != nil {
			return 0, authenticationFailed(fmt.Errorf("read the credentials in the Secret %s/%s: %w", obj.Namespace, name, err))
		}
	}
	return len(names), nil
}

// verification reads the public keys.
func (u *ociUpstream) verification(ctx context.Context, obj *sourcev1.OCIRepository) (*oci.Verification, error) {
	verify := obj.Spec.Verify
	switch {
	case verify == nil:
		return nil, nil
	case verify.Provider != "cosign" && verify.Provider != "":
		return nil, upstream.Stalled(sourcev1.VerificationError, nil, "spec.verify.provider %s is not supported: signatures are verified by cosign, with public keys", verify.Provider)
	case verify.SecretRef == nil:
		return nil, upstream.Stalled(sourcev1.VerificationError, nil, "spec.verify without secretRef requests a keyless signature, which is not supported: "+
			"use spec.verify.secretRef to name a Secret with the public key, in an entry whose name ends in .pub")
	}
	secret, err := readSecret(ctx, u.reader, obj.Namespace, verify.SecretRef.Name)
	if err != nil {
		return nil, upstream.Failed(sourcev1.VerificationError, err, "%s", err)
	}
	keys := map[string][]byte{}
	for name, content := range secret.Data {
		if strings.HasSuffix(name, ".pub") {
			keys[name] = content
		}
	}
	verification, err := oci.NewVerification(keys)
	if err != nil {
		return nil, upstream.Failed(sourcev1.VerificationError, err, "read the keys in the Secret %s/%s, which spec.verify.secretRef names: %s", obj.Namespace, secret.Name, err)
	}
	return verification, nil
}
