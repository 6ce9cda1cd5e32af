// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/objects/clusters"
)

// accessError means that there is no access to the target until the user changes something.
type accessError struct{ message string }

func (e *accessError) Error() string { return e.message }

// target returns how to reach the API of a release, and as whom.
func (r *Reconciler) target(ctx context.Context, obj *helmv2.HelmRelease) (*rest.Config, error) {
	account := cmp.Or(obj.Spec.ServiceAccountName, r.DefaultServiceAccount)
	if k := obj.Spec.KubeConfig; k != nil {
		content, err := r.kubeconfig(ctx, obj)
		if err != nil {
			return nil, err
		}
		config, err := clusters.Config(content)
		if err != nil {
			return nil, &accessError{fmt.Sprintf("spec.kubeConfig cannot be used: %s", err)}
		}
		if account != "" {
			config = impersonate(config, obj.Namespace, account)
		}
		return config, nil
	}
	// Never the server's own rights.
	if account == "" {
		return nil, &accessError{"spec.serviceAccountName is missing"}
	}
	var sa corev1.ServiceAccount
	err := r.Reader.Get(ctx, nameOf(obj.Namespace, account), &sa)
	if apierrors.IsNotFound(err) {
		return nil, &accessError{fmt.Sprintf("the service account %s/%s does not exist; create it, and grant it access to the chart's objects:\n"+
			"    yuba kubectl create serviceaccount %s -n %s", obj.Namespace, account, account, obj.Namespace)}
	}
	if err != nil {
		return nil, fmt.Errorf("read the service account %s/%s: %w", obj.Namespace, account, err)
	}
	return impersonate(r.Config, obj.Namespace, account), nil
}

func impersonate(config *rest.Config, namespace, account string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":" + account}
	return config
}

// kubeconfig returns the kubeconfig of spec.kubeConfig.
func (r *Reconciler) kubeconfig(ctx context.Context, obj *helmv2.HelmRelease) ([]byte, error) {
	k := obj.Spec.KubeConfig
	if k.SecretRef == nil {
		return r.tokenKubeconfig(ctx, obj)
	}
	var secret corev1.Secret
	name := nameOf(obj.Namespace, k.SecretRef.Name)
	err := r.Reader.Get(ctx, name, &secret)
	if apierrors.IsNotFound(err) {
		return nil, &accessError{fmt.Sprintf("the Secret %s of spec.kubeConfig does not exist", name)}
	}
	if err != nil {
		return nil, fmt.Errorf("read the Secret %s of spec.kubeConfig: %w", name, err)
	}
	content, err := clusters.Kubeconfig(&secret, k.SecretRef.Key)
	if err != nil {
		return nil, &accessError{err.Error()}
	}
	return content, nil
}

// tokenKubeconfig makes a kubeconfig from a ConfigMap, as Flux's provider "generic": with a token of a
// service account of the namespace, which the other cluster trusts by OIDC.
func (r *Reconciler) tokenKubeconfig(ctx context.Context, obj *helmv2.HelmRelease) ([]byte, error) {
	ref := obj.Spec.KubeConfig.ConfigMapRef
	if ref == nil {
		return nil, &accessError{"spec.kubeConfig names neither a Secret nor a ConfigMap"}
	}
	var m corev1.ConfigMap
	name := nameOf(obj.Namespace, ref.Name)
	err := r.Reader.Get(ctx, name, &m)
	if apierrors.IsNotFound(err) {
		return nil, &accessError{fmt.Sprintf("the ConfigMap %s of spec.kubeConfig does not exist", name)}
	}
	if err != nil {
		return nil, fmt.Errorf("read the ConfigMap %s of spec.kubeConfig: %w", name, err)
	}
	address, account := m.Data[meta.KubeConfigKeyAddress], m.Data[meta.KubeConfigKeyServiceAccountName]
	switch {
	case m.Data[meta.KubeConfigKeyProvider] != "generic":
		return nil, &accessError{fmt.Sprintf("the provider of the ConfigMap %s requests cloud credentials, which are not supported: use generic, or spec.kubeConfig.secretRef", name)}
	case address == "" || account == "":
		return nil, &accessError{fmt.Sprintf("the ConfigMap %s of spec.kubeConfig needs address and serviceAccountName", name)}
	}
	audiences := []string{address}
	if text := m.Data[meta.KubeConfigKeyAudiences]; text != "" {
		if err := yaml.Unmarshal([]byte(text), &audiences); err != nil {
			return nil, &accessError{fmt.Sprintf("audiences of the ConfigMap %s is not a YAML list", name)}
		}
	}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	sa := &corev1.ServiceAccount{}
	sa.Namespace, sa.Name = obj.Namespace, account
	err = r.Client.SubResource("token").Create(ctx, sa, token)
	if apierrors.IsNotFound(err) {
		return nil, &accessError{fmt.Sprintf("the service account %s/%s of the ConfigMap %s does not exist", obj.Namespace, account, ref.Name)}
	}
	if err != nil {
		return nil, fmt.Errorf("request a token of the service account %s/%s: %w", obj.Namespace, account, err)
	}
	cluster := map[string]any{"server": address}
	if ca := m.Data[meta.KubeConfigKeyCACert]; ca != "" {
		cluster["certificate-authority-data"] = []byte(ca)
	}
	return yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Config", "current-context": "target",
		"clusters": []any{map[string]any{"name": "target", "cluster": cluster}},
		"users":    []any{map[string]any{"name": "target", "user": map[string]any{"token": token.Status.Token}}},
		"contexts": []any{map[string]any{"name": "target", "context": map[string]any{"cluster": "target", "user": "target"}}}})
}
