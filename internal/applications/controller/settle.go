// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// youth is the age of a kind from which API servers create its objects at once. They make the first
// ones wait for two seconds, so that the other servers of a group know the kind by then.
const youth = 3 * time.Second

// settle makes a young kind look older where there is only one API server, which waits for nobody.
func (p *defining) settle(ctx context.Context) error {
	if !p.LoneServer || p.live == nil || p.theirs != "" {
		return nil
	}
	for i := range p.live.Status.Conditions {
		c := &p.live.Status.Conditions[i]
		if c.Type != apiextensionsv1.Established || c.Status != apiextensionsv1.ConditionTrue || p.Now().Sub(c.LastTransitionTime.Time) >= youth {
			continue
		}
		older := p.live.DeepCopy()
		older.Status.Conditions[i].LastTransitionTime = metav1.NewTime(p.live.CreationTimestamp.Add(-youth))
		live, err := p.kinds.ApiextensionsV1().CustomResourceDefinitions().UpdateStatus(ctx, older, metav1.UpdateOptions{FieldManager: appv1.FieldManager})
		if err != nil {
			return fmt.Errorf("let the API create objects of the kind %s at once: %w", p.live.Name, err)
		}
		p.live = live
	}
	return nil
}
