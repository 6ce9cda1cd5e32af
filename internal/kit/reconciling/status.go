// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reconciling

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchStatus writes the differences of a status with a single writer, and updates the resource
// version. Concurrent changes are not a conflict, but a new object of the name is.
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
		return nil // the difference has no JSON form, such as parts of seconds; null would delete the status
	}
	data, err = json.Marshal(map[string]any{"metadata": map[string]any{"uid": now.GetUID()}, "status": patch["status"]})
	if err != nil {
		return err
	}
	// The API's response replaces the sent object, and lacks what JSON cannot express.
	written := now.DeepCopyObject().(client.Object)
	if err := c.Status().Patch(ctx, written, client.RawPatch(types.MergePatchType, data)); err != nil {
		return err
	}
	now.SetResourceVersion(written.GetResourceVersion())
	return nil
}
