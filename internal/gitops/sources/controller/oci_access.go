// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/secrets"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// entry returns the first existing entry of a Secret; later names are older.
func entry(secret *corev1.Secret, names ...string) []byte {
	for _, name := range names {
		if content := secret.Data[name]; len(content) > 0 {
			return content
		}
	}
	return nil
}

// accessOf reads certificates and the proxy.
func accessOf(ctx context.Context, reader client.Reader, namespace string, certificates, proxy *meta.LocalObjectReference) (upstream.Access, error) {
	var a upstream.Access
	if certificates != nil {
		secret, err := readSecret(ctx, reader, namespace, certificates.Name)
		if err != nil {
			return a, authenticationFailed(err)
		}
		a.CA = entry(secret, secrets.KeyCACert, secrets.LegacyKeyCACert)
		a.Certificate = entry(secret, secrets.KeyTLSCert, secrets.LegacyKeyTLSCert)
		a.Key = entry(secret, secrets.KeyTLSPrivateKey, secrets.LegacyKeyTLSPrivateKey)
		if (a.Certificate == nil) != (a.Key == nil) || a.CA == nil && a.Certificate == nil {
			return a, authenticationFailed(fmt.Errorf("the Secret %s/%s, which spec.certSecretRef names, needs ca.crt, or tls.crt and tls.key, or all of them",
				namespace, certificates.Name))
		}
	}
	var err error
	a.Proxy, err = proxyOf(ctx, reader, namespace, proxy)
	return a, err
}

// noIdentity refuses the cloud identity of this server: authors of sources may use it only if an
// administrator allows it.
func noIdentity(provider, instead string) error {
	return upstream.Stalled(sourcev1.InvalidProviderConfigurationReason, nil,
		"spec.provider %q without credentials requests the cloud identity of this server, which sources may not use: %s. An administrator can allow it: --source-identities=%s",
		provider, instead, provider)
}

// notOwn refuses what would show the credentials of this server to others, or ask for those of
// somebody else.
func notOwn(provider, instead string) error {
	return upstream.Stalled(sourcev1.InvalidProviderConfigurationReason, nil,
		"spec.provider %q without credentials uses the cloud identity of this server, whose credentials are only sent to the provider itself: %s", provider, instead)
}
