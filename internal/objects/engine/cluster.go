// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/yamltext"
	"github.com/yuba-dev/yuba/internal/objects/claims"
)

// Cluster is an API, and the rights with which objects are written to it.
type Cluster struct {
	// Key distinguishes the clusters of all owners; empty for the API that this server belongs to.
	Key string
	// Client has the rights of the owner.
	Client client.Client
	Mapper meta.RESTMapper
	// Own reads with all rights; nil where the server has none.
	Own client.Reader
	// Watch follows the owned objects; nil when the cluster is not watched.
	Watch *Watch
	// Explain returns an error of the API as it may be shown; nil changes nothing. Errors that
	// quote nothing of an API are [OwnWords].
	Explain func(error) error
}

const (
	// concurrency is the number of concurrent requests of a batch to a remote cluster, as in Flux.
	concurrency = 4
	// ownConcurrency is that for our own API, which syncs concurrent writes to disk together.
	ownConcurrency = 12
)

func (c *Cluster) concurrency() int {
	if c.Key == "" {
		return ownConcurrency
	}
	return concurrency
}

// Place identifies an object of the cluster.
func (c *Cluster) Place(id ID) claims.Place { return claims.Place{Cluster: c.Key, ID: id} }

// Keep follows the kinds of these objects for an owner, and no others.
func (c *Cluster) Keep(owner Owner, refs []Ref) {
	if c.Watch == nil {
		return
	}
	kinds := map[schema.GroupKind]string{}
	for _, r := range refs {
		kinds[r.GroupKind] = r.Version
	}
	c.Watch.Keep(owner, kinds)
}

// Metadata reads an object's metadata from the API.
func (c *Cluster) Metadata(ctx context.Context, ref Ref) (*metav1.PartialObjectMetadata, error) {
	return metadataFrom(ctx, c.Client, ref)
}

func metadataFrom(ctx context.Context, from client.Reader, ref Ref) (*metav1.PartialObjectMetadata, error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(ref.GroupKind.WithVersion(ref.Version))
	if err := from.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, m); err != nil {
		return nil, err
	}
	return m, nil
}

// read returns the object that a manifest is about.
func (c *Cluster) read(ctx context.Context, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(manifest.GroupVersionKind())
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(manifest), live); err != nil {
		return nil, err
	}
	return live, nil
}

// apply applies an object, and replaces it by the API's answer.
func (c *Cluster) apply(ctx context.Context, u *unstructured.Unstructured, options ...client.PatchOption) error {
	return c.Client.Patch(ctx, u, yamltext.Apply, options...)
}

// MergePatch patches an object, and replaces it by the API's answer.
func MergePatch(ctx context.Context, c client.Writer, manager string, obj client.Object, patch map[string]any) error {
	content, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, content), client.FieldOwner(manager))
}

// remove deletes an object, unless another one now has its name.
func (c *Cluster) remove(ctx context.Context, ref Ref, uid types.UID) error {
	u := &metav1.PartialObjectMetadata{}
	u.SetGroupVersionKind(ref.GroupKind.WithVersion(ref.Version))
	u.Namespace, u.Name = ref.Namespace, ref.Name
	return c.Client.Delete(ctx, u, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid})
}

func (c *Cluster) explain(err error) error {
	if c.Explain == nil || err == nil {
		return err
	}
	return c.Explain(err)
}

// isRoot reports whether a kind is cluster-scoped.
func isRoot(mapping *meta.RESTMapping) bool { return mapping.Scope.Name() == meta.RESTScopeNameRoot }
