// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// publishContent publishes the address of content for clients, since this API does not serve it
// itself.
func publishContent(ctx context.Context, c client.Client, url string, ca []byte, log *slog.Logger) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: content.ConfigMapNamespace}}
	if err := c.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the namespace %s: %w", ns.Name, err)
	}
	cm := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: content.ConfigMapNamespace, Name: content.ConfigMapName},
		Data:       map[string]string{"url": url, "ca.crt": string(ca)},
	}
	err := c.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		err = c.Update(ctx, cm)
	}
	if err != nil {
		return fmt.Errorf("publish the address of the content: %w", err)
	}
	if err := letEverybodyFind(ctx, c); err != nil {
		log.Warn("cannot grant everybody access to the address of content; users need permission to read it", "configmap", cm.Namespace+"/"+cm.Name, "error", err)
	}
	return nil
}

// letEverybodyFind lets all authenticated users read the address. It is not secret, and content is
// authorised.
func letEverybodyFind(ctx context.Context, c client.Client) error {
	meta := metav1.ObjectMeta{Namespace: content.ConfigMapNamespace, Name: content.ConfigMapName}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"},
			ResourceNames: []string{content.ConfigMapName}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: user.AllAuthenticated}}},
	} {
		if err := c.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
