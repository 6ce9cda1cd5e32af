// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
)

// The keys of the Secret with credentials: the names of the variables that AWS's and Vault's tools read.
const (
	keyID      = "AWS_ACCESS_KEY_ID"
	keySecret  = "AWS_SECRET_ACCESS_KEY" //nolint:gosec // the name of a key
	keySession = "AWS_SESSION_TOKEN"     //nolint:gosec // the name of a key
	keyVault   = "VAULT_TOKEN"
)

// labelBridge is on objects that a bridge writes.
const labelBridge = "yuba.dev/contract-bridge"

// labelOf is a name as the value of a label, which has at most 63 characters. Longer names end with
// their hash.
func labelOf(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:validation.LabelValueMaxLength-9] + "-" + hex.EncodeToString(sum[:4])
}

func producerOf(b *yubav1.ContractBridge) types.NamespacedName {
	if b.Spec.From == nil {
		return types.NamespacedName{Namespace: b.Namespace}
	}
	return types.NamespacedName{Namespace: cmp.Or(b.Spec.From.Namespace, b.Namespace), Name: b.Spec.From.Name}
}

func producerKey(b *yubav1.ContractBridge) []string { return []string{producerOf(b).String()} }

func contractKey(b *yubav1.ContractBridge) []string {
	if b.Spec.Contract == "" {
		return nil
	}
	return []string{producerOf(b).Namespace + "/" + b.Spec.Contract}
}

// objectKeys name the objects that a bridge reads: KIND/NAMESPACE/NAME.
func objectKeys(b *yubav1.ContractBridge) (keys []string) {
	s := &b.Spec.Store
	if s.CredentialsSecret != nil {
		keys = append(keys, "Secret/"+b.Namespace+"/"+s.CredentialsSecret.Name)
	}
	if s.KubeConfig != nil {
		if ref := s.KubeConfig.SecretRef; ref != nil {
			keys = append(keys, "Secret/"+b.Namespace+"/"+ref.Name)
		}
		return keys // objects in other clusters are not watched
	}
	if s.Secret != nil {
		keys = append(keys, "Secret/"+b.Namespace+"/"+s.Secret.Name)
	}
	if s.ConfigMap != nil {
		keys = append(keys, "ConfigMap/"+b.Namespace+"/"+s.ConfigMap.Name)
	}
	return keys
}

// open returns the store of a bridge.
func (r *Reconciler) open(ctx context.Context, b *yubav1.ContractBridge) (store.Store, error) {
	s := &b.Spec.Store
	if o := cmp.Or(s.ConfigMap, s.Secret); o != nil {
		cluster, where, err := r.cluster(ctx, b)
		if err != nil {
			return nil, err
		}
		return &store.Object{Client: cluster, Where: where, Namespace: cmp.Or(o.Namespace, b.Namespace), ObjectName: o.Name, Key: cmp.Or(o.Key, "document.json"),
			Secret: s.Secret != nil, Attributes: o.Attributes && b.Spec.Direction == yubav1.BridgeOut, Reload: o.Reload, Labels: map[string]string{labelBridge: labelOf(b.Name)}}, nil
	}
	credentials, err := r.credentials(ctx, b)
	if err != nil {
		return nil, err
	}
	keys := store.Keys{ID: credentials[keyID], Secret: credentials[keySecret], Session: credentials[keySession]}
	if s.Vault == nil && (keys.ID == "" || keys.Secret == "") {
		return nil, invalid("the Secret of spec.store.credentialsSecret needs the keys %s and %s", keyID, keySecret)
	}
	// AWS's own names need no limit: in a VPC they may have private addresses.
	named := func(endpoint string) *http.Client {
		if endpoint == "" {
			return nil
		}
		return r.Outside
	}
	switch {
	case s.SSM != nil:
		return &store.SSM{Parameter: s.SSM.Name, Region: s.SSM.Region, Type: s.SSM.Type, KeyID: s.SSM.KeyID, Endpoint: s.SSM.Endpoint, Keys: keys, Client: named(s.SSM.Endpoint)}, nil
	case s.S3 != nil:
		return &store.S3{Bucket: s.S3.Bucket, Key: s.S3.Key, Region: s.S3.Region, Endpoint: s.S3.Endpoint, Keys: keys, Client: named(s.S3.Endpoint)}, nil
	case s.Vault != nil:
		if credentials[keyVault] == "" {
			return nil, invalid("the Secret of spec.store.credentialsSecret needs the key %s", keyVault)
		}
		return &store.Vault{Address: s.Vault.Address, Mount: s.Vault.Mount, Path: s.Vault.Path, Namespace: s.Vault.Namespace, Token: credentials[keyVault], Client: r.Outside}, nil
	}
	return nil, invalid("spec.store names no store that this server knows")
}

// credentials reads the Secret with credentials.
func (r *Reconciler) credentials(ctx context.Context, b *yubav1.ContractBridge) (map[string]string, error) {
	ref := b.Spec.Store.CredentialsSecret
	if ref == nil {
		return nil, invalid("spec.store.credentialsSecret is missing: the server does not lend its own identity")
	}
	var s corev1.Secret
	err := r.Direct.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: ref.Name}, &s)
	if apierrors.IsNotFound(err) {
		return nil, invalid("the Secret %s of spec.store.credentialsSecret does not exist", ref.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the Secret %s with credentials: %w", ref.Name, err)
	}
	out := map[string]string{}
	for key, value := range s.Data {
		out[key] = string(value)
	}
	return out, nil
}
