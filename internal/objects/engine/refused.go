// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	ssaerrors "github.com/fluxcd/pkg/ssa/errors"
	"github.com/fluxcd/pkg/ssa/utils"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refused says that the API did not take an object. Of a Secret only the fields are named: the API quotes values.
func refused(it *item, what string, err error) error {
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		what += fmt.Sprintf(" (%s)", reason)
	}
	if !utils.IsSecret(it.manifest) || apierrors.IsForbidden(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s %s: %w", Name(it.id), what, err)
	}
	var status apierrors.APIStatus
	fields := ""
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			fields += fmt.Sprintf(" %s (%s)", c.Field, c.Type)
		}
	}
	if fields == "" {
		fields = " its content"
	}
	return fmt.Errorf("%s %s: the API does not accept%s; what exactly it says is not shown, for it may quote the Secret", Name(it.id), what, fields)
}

// definite tells whether the API has said that it did not carry a write out. After a time-out or a lost connection it may have.
func definite(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// recreatable tells whether the object can only be what its manifest says when it is made anew, and whether that is wanted.
// An object is not removed for a manifest that is wrong in itself: it has to be one that the API would accept of a new object.
func (s *stage) recreatable(ctx context.Context, it *item, err error) bool {
	if !ssaerrors.IsImmutableError(err) || !(s.forced(it) || it.live != nil && says(it.live, s.policy().keyForce(), valueEnabled)) {
		return false
	}
	probe := it.manifest.DeepCopy()
	name := probe.GetName()
	probe.SetName(name[:min(len(name), 200)] + "-dry-run")
	return s.cluster.Client.Create(ctx, probe, client.DryRunAll, client.FieldOwner(s.policy().Manager)) == nil
}

// removeTimeout is how long a pass waits for an object to go that is made anew.
const removeTimeout = 5 * time.Second

// remove deletes an object that is to be made anew, and waits a moment for it to go.
func (s *stage) remove(ctx context.Context, it *item) error {
	version := it.manifest.GroupVersionKind().Version
	live, err := getMetadata(ctx, s.cluster.Client, it.id, version)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if live.DeletionTimestamp == nil {
		if err := deleteObject(ctx, s.cluster.Client, it.id, version, live.UID); err != nil {
			return fmt.Errorf("immutable field detected, delete the object: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	for {
		_, err := getMetadata(ctx, s.cluster.Client, it.id, version)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("immutable field detected; the object is being deleted so that it can be made anew, and its finalizers (%s) take their time",
				strings.Join(live.Finalizers, ", "))
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func deleteObject(ctx context.Context, c client.Writer, id ID, version string, uid types.UID) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(id.GroupKind.WithVersion(version))
	u.SetNamespace(id.Namespace)
	u.SetName(id.Name)
	err := c.Delete(ctx, u, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid})
	return client.IgnoreNotFound(err)
}

// awaitDefinitions waits until the API serves the kinds that were defined, and says whether there were any.
func awaitDefinitions(ctx context.Context, c *Cluster, items []*item) (bool, error) {
	found := false
	ctx, cancel := context.WithTimeout(ctx, definitionTimeout)
	defer cancel()
	for _, it := range items {
		if !utils.IsCRD(it.manifest) || it.result == nil && it.action != "created" && it.action != "configured" {
			continue
		}
		found = true
		for !established(it.result) {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(it.manifest.GroupVersionKind())
			if err := c.Client.Get(ctx, client.ObjectKey{Name: it.id.Name}, live); err != nil {
				return found, fmt.Errorf("%s: look whether the API serves what it defines: %w", Name(it.id), err)
			}
			it.result = live
			select {
			case <-ctx.Done():
				return found, fmt.Errorf("%s: the API does not serve what it defines; kubectl describe crd %s says why", Name(it.id), it.id.Name)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return found, nil
}

func established(u *unstructured.Unstructured) bool {
	if u == nil {
		return false
	}
	list, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == "Established" && m["status"] == "True" {
			return true
		}
	}
	return false
}
