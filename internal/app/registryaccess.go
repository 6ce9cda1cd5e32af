// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	gateway "github.com/yuba-dev/yuba/internal/gateway/registry"
)

// The cluster roles of readers, and the names of their bindings to all users. The mirror's is separate: to
// limit who reads modules must not make runs download public providers elsewhere.
const (
	registryReader = "yuba:registry-reader"
	mirrorReader   = "yuba:registry-mirror-reader"
)

// readers are the resources that the roles read.
var readers = map[string][]string{
	registryReader: {gateway.ResourceModules, gateway.ResourceProviders, gateway.ResourceSigningKeys, gateway.ResourceRegistry},
	mirrorReader:   {gateway.ResourceMirror, gateway.ResourceRegistry},
}

// annotationBound marks a cluster role once its binding was created, so that a deleted binding stays
// deleted.
const annotationBound = "yuba.dev/bound"

// keepLettingEverybodyRead calls letEverybodyRead until it succeeds or is not permitted: the chart has
// the binding.
func keepLettingEverybodyRead(ctx context.Context, api kubernetes.Interface, log *slog.Logger) {
	const again = 5 * time.Second
	for attempt := 0; ; attempt++ {
		err := letEverybodyRead(ctx, api)
		if err == nil || apierrors.IsForbidden(err) {
			return
		}
		if attempt == 1 { // the first may only mean that the API server stops
			log.Warn("cannot allow all authenticated users to read the registry yet; they need the cluster roles "+registryReader+" and "+mirrorReader, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		}
	}
}

// letEverybodyRead lets all authenticated users read the registry, service accounts of stacks included.
// It does so once: administrators can delete the bindings.
func letEverybodyRead(ctx context.Context, api kubernetes.Interface) error {
	for _, role := range slices.Sorted(maps.Keys(readers)) {
		if err := bindOnce(ctx, api, role, readers[role]); err != nil {
			return err
		}
	}
	return nil
}

// bindOnce binds a cluster role to all authenticated users unless it did so before.
func bindOnce(ctx context.Context, api kubernetes.Interface, name string, resources []string) error {
	roles, bindings := api.RbacV1().ClusterRoles(), api.RbacV1().ClusterRoleBindings()
	role, err := roles.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		role, err = roles.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{content.Group},
			Resources: resources, Verbs: []string{"get", "list"}}}}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("read the cluster role %s: %w", name, err)
	}
	if role.Annotations[annotationBound] != "" {
		return nil
	}
	_, err = bindings.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: user.AllAuthenticated}}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("bind the cluster role %s: %w", name, err)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, annotationBound)
	if _, err := roles.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("mark the cluster role %s: %w", name, err)
	}
	return nil
}

// certificateFiles serves the certificate in two files, and reads them again when they have changed.
// While they do not match, the old certificate stays.
func certificateFiles(certFile, keyFile string, now func() time.Time) (certificate, error) {
	const again = 10 * time.Second
	var (
		mu      sync.Mutex
		current *tls.Certificate
		written time.Time
		checked time.Time
	)
	load := func() error {
		info, err := os.Stat(certFile)
		if err != nil || info.ModTime().Equal(written) {
			return err
		}
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err == nil {
			current, written = &pair, info.ModTime()
		}
		return err
	}
	if err := load(); err != nil {
		return nil, fmt.Errorf("read the registry's certificate of --registry-tls-cert and --registry-tls-key: %w", err)
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if now().Sub(checked) > again {
			checked = now()
			_ = load() // until both files match, the old one is better than none
		}
		return current, nil
	}, nil
}
