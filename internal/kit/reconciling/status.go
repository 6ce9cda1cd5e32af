// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reconciling

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchStatus writes what of a status differs from what it was before; the object gets its new resource version. It is for
// statuses that nobody else writes: a change of the object meanwhile is no conflict. Another object of the same name is.
func PatchStatus(ctx context.Context, c client.Client, before, now client.Object) error {
	data, err := client.MergeFrom(before).Data(now)
	if err != nil {
		return err
	}
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return err
	}
	if patch["status"] == nil {
		return nil // what differs cannot be written down, such as parts of seconds; null would take away all of it
	}
	data, err = json.Marshal(map[string]any{"metadata": map[string]any{"uid": now.GetUID()}, "status": patch["status"]})
	if err != nil {
		return err
	}
	// The API's answer replaces the object that is sent, and lacks what a status cannot say.
	written := now.DeepCopyObject().(client.Object)
	if err := c.Status().Patch(ctx, written, client.RawPatch(types.MergePatchType, data)); err != nil {
		return err
	}
	now.SetResourceVersion(written.GetResourceVersion())
	return nil
}
