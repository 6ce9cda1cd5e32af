// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/serving"
)

// grant writes the role of the kind, by which the roles of namespaces include it: once after a start,
// and when it has changed. A server that may not write ClusterRoles serves the kind all the same:
// administrators can give rights to it.
func (p *defining) grant(ctx context.Context) error {
	role := serving.Role(p.obj, p.live)
	content, err := json.Marshal(map[string]any{"apiVersion": role.APIVersion, "kind": role.Kind, "rules": role.Rules,
		"metadata": map[string]any{"name": role.Name, "labels": role.Labels, "ownerReferences": role.OwnerReferences}})
	if err != nil {
		return err
	}
	digest := sha256.Sum256(content)
	if written, ok := p.granted.Load(p.obj.UID); ok && written == digest {
		return nil
	}
	_, err = p.roles.ClusterRoles().Patch(ctx, role.Name, types.ApplyPatchType, content, metav1.PatchOptions{FieldManager: appv1.FieldManager, Force: ptr.To(true)})
	if apierrors.IsForbidden(err) {
		p.warn(fmt.Sprintf("the roles of namespaces do not include the kind, because the server may not write the ClusterRole %s. Write a role of your own", role.Name))
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the role of definition %s: %w", p.obj.Name, err)
	}
	p.granted.Store(p.obj.UID, digest)
	return nil
}

// warn adds a remark to the status.
func (p *defining) warn(text string) {
	s := &p.obj.Status
	s.Warnings = append(s.Warnings[:min(len(s.Warnings), maxWarnings-1)], text)
}
