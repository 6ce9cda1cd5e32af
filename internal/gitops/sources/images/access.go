// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/secrets"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/gitops/sources/oci"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// secretsOfRepository lists the Secrets that an ImageRepository names itself.
func secretsOfRepository(o client.Object) []string {
	r := o.(*imagev1.ImageRepository)
	return keysOf(r.Namespace, r.Spec.SecretRef, r.Spec.CertSecretRef, r.Spec.ProxySecretRef)
}

func secretsOfAutomation(o client.Object) []string {
	a := o.(*automationv1.ImageUpdateAutomation)
	if a.Spec.GitSpec == nil || a.Spec.GitSpec.Commit.SigningKey == nil {
		return nil
	}
	return keysOf(a.Namespace, &a.Spec.GitSpec.Commit.SigningKey.SecretRef)
}

func keysOf(namespace string, refs ...*meta.LocalObjectReference) (keys []string) {
	for _, ref := range refs {
		if ref != nil && ref.Name != "" {
			keys = append(keys, namespace+"/"+ref.Name)
		}
	}
	return keys
}

// image returns an image with its access.
func (i *Images) image(ctx context.Context, o *imagev1.ImageRepository) (*oci.Repository, error) {
	if o.GetProvider() != "generic" {
		return nil, upstream.Stalled(sourcev1.InvalidProviderConfigurationReason, nil,
			"spec.provider %q: the credentials of clouds are not supported for images. Remove the provider, and name a Secret of the type %s in spec.secretRef", o.Spec.Provider, corev1.SecretTypeDockerConfigJson)
	}
	// People see the name without a scheme.
	wanted := &oci.Repository{URL: "oci://" + o.Spec.Image, Insecure: o.Spec.Insecure, Timeout: o.GetTimeout()}
	if _, err := wanted.Canonical(); err != nil || strings.Contains(o.Spec.Image, "://") {
		return nil, upstream.Stalled(imagev1.ImageURLInvalidReason, nil, "spec.image must be a name such as ghcr.io/acme/app, without a scheme, a tag or a digest")
	}
	var err error
	if ref := o.Spec.CertSecretRef; ref != nil {
		if wanted.Access, err = i.certificates(ctx, o.Namespace, ref.Name); err != nil {
			return nil, err
		}
	}
	if wanted.Access.Proxy, err = i.proxy(ctx, o.Namespace, o.Spec.ProxySecretRef); err != nil {
		return nil, err
	}
	wanted.Access.SkipVerify = o.Spec.Insecure && o.Spec.CertSecretRef == nil
	return wanted, i.credentials(ctx, o, &wanted.Credentials)
}

func (i *Images) certificates(ctx context.Context, namespace, name string) (a upstream.Access, err error) {
	secret, err := i.secret(ctx, namespace, name)
	if err != nil {
		return a, err
	}
	entry := func(names ...string) []byte {
		for _, name := range names {
			if content := secret.Data[name]; len(content) > 0 {
				return content
			}
		}
		return nil
	}
	a.CA = entry(secrets.KeyCACert, secrets.LegacyKeyCACert)
	a.Certificate, a.Key = entry(secrets.KeyTLSCert, secrets.LegacyKeyTLSCert), entry(secrets.KeyTLSPrivateKey, secrets.LegacyKeyTLSPrivateKey)
	if (a.Certificate == nil) != (a.Key == nil) || a.CA == nil && a.Certificate == nil {
		return a, unauthenticated("the Secret %s/%s, which spec.certSecretRef names, needs ca.crt, or tls.crt and tls.key, or all of them", namespace, name)
	}
	return a, nil
}

// credentials reads the Secrets with credentials.
func (i *Images) credentials(ctx context.Context, o *imagev1.ImageRepository, into *oci.Credentials) error {
	var names []string
	if ref := o.Spec.SecretRef; ref != nil {
		names = append(names, ref.Name)
	}
	if name := o.Spec.ServiceAccountName; name != "" {
		account := &corev1.ServiceAccount{}
		if err := i.Reader.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: name}, account); err != nil {
			return unauthenticated("read the ServiceAccount %s/%s, which spec.serviceAccountName names: %s", o.Namespace, name, err)
		}
		for _, ref := range account.ImagePullSecrets {
			names = append(names, ref.Name)
		}
	}
	for _, name := range names {
		secret, err := i.secret(ctx, o.Namespace, name)
		if err != nil {
			return err
		}
		document := secret.Data[corev1.DockerConfigJsonKey]
		if document == nil {
			document = secret.Data[corev1.DockerConfigKey]
		}
		if document == nil {
			return unauthenticated("the Secret %s/%s does not have %s; its type must be %s", o.Namespace, name, corev1.DockerConfigJsonKey, corev1.SecretTypeDockerConfigJson)
		}
		if err := into.AddDockerConfig(document); err != nil {
			return unauthenticated("read the credentials in the Secret %s/%s: %s", o.Namespace, name, err)
		}
	}
	return nil
}

// repository returns a git repository with its access, and the time that its operations may take.
func (i *Images) repository(ctx context.Context, o *sourcev1.GitRepository) (git.Upstream, time.Duration, error) {
	up, timeout := git.Upstream{URL: o.Spec.URL}, time.Minute
	if o.Spec.Timeout != nil && o.Spec.Timeout.Duration > 0 {
		timeout = o.Spec.Timeout.Duration
	}
	if provider := o.GetProvider(); provider != sourcev1.GitProviderGeneric {
		return up, timeout, upstream.Failed(automationv1.InvalidSourceConfigReason, nil,
			"the GitRepository %s/%s has spec.provider %q: credentials of clouds and apps are not supported. Name a Secret with a password, a token or an SSH key instead", o.Namespace, o.Name, provider)
	}
	if ref := o.Spec.SecretRef; ref != nil {
		secret, err := i.secret(ctx, o.Namespace, ref.Name)
		if err != nil {
			return up, timeout, err
		}
		up.Secret = secret.Data
	}
	var err error
	up.Proxy, err = i.proxy(ctx, o.Namespace, o.Spec.ProxySecretRef)
	return up, timeout, err
}

// proxy reads the address of a proxy; nil without a reference.
func (i *Images) proxy(ctx context.Context, namespace string, ref *meta.LocalObjectReference) (*url.URL, error) {
	if ref == nil {
		return nil, nil
	}
	secret, err := i.secret(ctx, namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	proxy, err := secrets.ProxyURLFromSecret(ctx, secret)
	if err != nil {
		// Do not include the error: it may quote the password.
		return nil, unauthenticated("configure the proxy: the Secret %s/%s needs an address such as http://proxy.example.com:3128, and username and password as separate keys", namespace, ref.Name)
	}
	return proxy, nil
}

// signer returns what signs commits; nil for unsigned ones.
func (i *Images) signer(ctx context.Context, namespace string, key *automationv1.SigningKey) (func([]byte) (string, error), error) {
	if key == nil {
		return nil, nil
	}
	secret, err := i.secret(ctx, namespace, key.SecretRef.Name)
	if err != nil {
		return nil, err
	}
	var sign func([]byte) (string, error)
	if key.Type == automationv1.SigningKeyTypeSSH {
		sign, err = git.SSHSigner(secret.Data["identity"], secret.Data["password"])
	} else {
		sign, err = git.PGPSigner(secret.Data["git.asc"], secret.Data["passphrase"])
	}
	if err != nil {
		return nil, unauthenticated("use the signing key in the Secret %s/%s: %s", namespace, key.SecretRef.Name, err)
	}
	return sign, nil
}

// secret reads a Secret.
func (i *Images) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := i.Reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, unauthenticated("the Secret %s/%s does not exist. Create it; reconciliation then continues by itself", namespace, name)
	}
	if err != nil {
		return nil, unauthenticated("read the Secret %s/%s: %s", namespace, name, err)
	}
	return &secret, nil
}

func unauthenticated(format string, args ...any) error {
	return upstream.Failed(imagev1.AuthenticationFailedReason, nil, "%s", fmt.Sprintf(format, args...))
}

// hostOf identifies the bottleneck of a URL or an image: its host, or the namespace's proxy for it.
func hostOf(address, namespace string, proxy *meta.LocalObjectReference) string {
	if _, rest, has := strings.Cut(address, "://"); has {
		address = rest
	}
	host, _, _ := strings.Cut(address, "/")
	if proxy != nil {
		return host + " by " + namespace + "/" + proxy.Name
	}
	return host
}
