// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/serving"
)

// grant writes the role of the kind, by which the roles of namespaces include it. A server that may not
// write ClusterRoles serves the kind all the same: administrators can give rights to it.
func (p *defining) grant(ctx context.Context) error {
	want := serving.Role(p.obj, p.live)
	live, err := p.roles.ClusterRoles().Get(ctx, want.Name, metav1.GetOptions{})
	if err == nil && sameRole(live, want) {
		return nil
	}
	if err == nil || apierrors.IsNotFound(err) {
		err = p.writeRole(ctx, want)
	}
	if apierrors.IsForbidden(err) {
		p.warn(fmt.Sprintf("the roles of namespaces do not include the kind, because the server may not write the ClusterRole %s. Write a role of your own", want.Name))
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the role of definition %s: %w", p.obj.Name, err)
	}
	return nil
}

func (p *defining) writeRole(ctx context.Context, want *rbacv1.ClusterRole) error {
	content, err := json.Marshal(map[string]any{"apiVersion": want.APIVersion, "kind": want.Kind, "rules": want.Rules,
		"metadata": map[string]any{"name": want.Name, "labels": want.Labels, "ownerReferences": want.OwnerReferences}})
	if err != nil {
		return err
	}
	_, err = p.roles.ClusterRoles().Patch(ctx, want.Name, types.ApplyPatchType, content, metav1.PatchOptions{FieldManager: appv1.FieldManager, Force: ptr.To(true)})
	return err
}

// sameRole reports whether a role gives what it should. Labels of others may stay.
func sameRole(live, want *rbacv1.ClusterRole) bool {
	for _, label := range append(serving.Aggregates, appv1.LabelDefinition) {
		if live.Labels[label] != want.Labels[label] {
			return false
		}
	}
	return reflect.DeepEqual(live.Rules, want.Rules) && reflect.DeepEqual(live.OwnerReferences, want.OwnerReferences)
}

// warn adds a remark to the status.
func (p *defining) warn(text string) {
	s := &p.obj.Status
	s.Warnings = append(s.Warnings[:min(len(s.Warnings), maxWarnings-1)], text)
}
