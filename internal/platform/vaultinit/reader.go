// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	mountPath  = "secret"
	authPath   = "kubernetes"
	readerName = "external-secrets"
	// readerTTL is short: External Secrets logs in again.
	readerTTL = "20m"
	// preparing limits the wait for a mounted engine.
	preparing = time.Minute
)

// policy lets the reader read all secrets of the engine, and nothing else.
const policy = `path "secret/data/*" { capabilities = ["read"] }
path "secret/metadata/*" { capabilities = ["read", "list"] }
`

// Reader is the service account of External Secrets in a cluster.
type Reader struct {
	Namespace, ServiceAccount string
	// Host is the API of the cluster as Vault reaches it, CA its certificate authority. Empty: Vault runs in that
	// cluster, and uses what its Pod has.
	Host string
	CA   []byte
	// ReviewerToken may create TokenReviews; empty if the reader's own token may.
	ReviewerToken string
}

// NewReader reads NAMESPACE/NAME.
func NewReader(name string) (*Reader, error) {
	namespace, account, ok := strings.Cut(name, "/")
	if !ok || namespace == "" || account == "" || strings.Contains(account, "/") {
		return nil, fmt.Errorf("the service account %q is not NAMESPACE/NAME", name)
	}
	return &Reader{Namespace: namespace, ServiceAccount: account}, nil
}

// configure may be repeated.
func (r *Reader) configure(ctx context.Context, vault *api) error {
	err := vault.call(ctx, http.MethodPost, "sys/mounts/"+mountPath, map[string]any{"type": "kv", "options": map[string]string{"version": "2"}}, nil)
	if err != nil && !exists(err) {
		return fmt.Errorf("mount the KV engine: %w", err)
	}
	err = vault.call(ctx, http.MethodPost, "sys/auth/"+authPath, map[string]string{"type": "kubernetes"}, nil)
	if err != nil && !exists(err) {
		return fmt.Errorf("enable the logins of Kubernetes: %w", err)
	}
	config := map[string]any{"kubernetes_host": r.host(), "disable_local_ca_jwt": r.Host != ""}
	if len(r.CA) > 0 {
		config["kubernetes_ca_cert"] = string(r.CA)
	}
	if r.ReviewerToken != "" {
		config["token_reviewer_jwt"] = strings.TrimSpace(r.ReviewerToken)
	}
	for _, step := range []struct {
		path string
		body any
	}{
		{"auth/" + authPath + "/config", config},
		{"sys/policies/acl/" + readerName, map[string]string{"policy": policy}},
		{"auth/" + authPath + "/role/" + readerName, map[string]any{"bound_service_account_names": []string{r.ServiceAccount},
			"bound_service_account_namespaces": []string{r.Namespace}, "token_policies": []string{readerName}, "token_no_default_policy": true, "token_ttl": readerTTL}},
	} {
		if err := vault.call(ctx, http.MethodPost, step.path, step.body, nil); err != nil {
			return fmt.Errorf("set up External Secrets: %w", err)
		}
	}
	return r.awaitEngine(ctx, vault)
}

func (r *Reader) host() string {
	if r.Host == "" {
		return "https://kubernetes.default.svc"
	}
	return r.Host
}

// awaitEngine waits until the engine has prepared its storage: it does so after the mount.
func (r *Reader) awaitEngine(ctx context.Context, vault *api) error {
	for deadline := time.Now().Add(preparing); ; {
		err := vault.call(ctx, http.MethodGet, mountPath+"/config", nil, nil)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(readyPause):
		}
	}
}

// Manifests are the ClusterSecretStore of External Secrets, with which its objects read from Vault, and the
// permission to have logins verified, as YAML. They have no secrets.
func (r *Reader) Manifests(address string, authorities []byte) ([]byte, error) {
	provider := map[string]any{"server": address, "path": mountPath, "version": "v2",
		"auth": map[string]any{"kubernetes": map[string]any{"mountPath": authPath, "role": readerName,
			"serviceAccountRef": map[string]any{"name": r.ServiceAccount, "namespace": r.Namespace}}}}
	if len(authorities) > 0 {
		provider["caBundle"] = base64.StdEncoding.EncodeToString(authorities)
	}
	objects := []map[string]any{
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": "vault-login-" + r.ServiceAccount},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:auth-delegator"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": r.Namespace, "name": r.ServiceAccount}}},
		{"apiVersion": "external-secrets.io/v1", "kind": "ClusterSecretStore", "metadata": map[string]any{"name": "vault"},
			"spec": map[string]any{"provider": map[string]any{"vault": provider}}},
	}
	var all []byte
	for i, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			all = append(all, "---\n"...)
		}
		all = append(all, text...)
	}
	return all, nil
}
